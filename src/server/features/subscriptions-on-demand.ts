/** `subscriptions/listen`, loaded with the first subscription. */
import { LazyModule } from '../../actors/lazy-module.ts';
import type { RequestHandler } from '../../actors/request-context.ts';
import { ifOffered } from './feature.ts';
import type { subscriptionsFeature, SubscriptionsFeature } from './subscriptions.ts';

const code = new LazyModule(() => import('./subscriptions.ts'));

/** Lazily loaded {@link subscriptionsFeature}. */
export function subscriptionsOnDemand(
  ...parts: Parameters<typeof subscriptionsFeature>
): SubscriptionsFeature {
  let made: SubscriptionsFeature | undefined;
  const method = 'subscriptions/listen';
  const listen: RequestHandler = (params, call) =>
    code.with((loaded) => {
      made ??= loaded.subscriptionsFeature(...parts);
      return made.handlers[method]?.(params, call);
    });
  return {
    capabilities: {},
    handlers: { [method]: ifOffered(listen) },
    notice: (...change) => made?.notice(...change),
    urisOf: (owner) => made?.urisOf(owner) ?? [],
    excludedFrom: (...change) => made?.excludedFrom(...change) ?? [],
  };
}
