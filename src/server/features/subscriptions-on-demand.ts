/** subscriptions/listen, loaded with the first subscription. */
import { OnDemand } from '../../actors/on-demand.ts';
import type { RequestHandler } from '../../actors/exchange.ts';
import { ifOffered } from './feature.ts';
import type { subscriptionsFeature, SubscriptionsFeature } from './subscriptions.ts';

const code = new OnDemand(() => import('./subscriptions.ts'));

/** The subscriptions of a server's clients; see `subscriptionsFeature`. */
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
    blindTo: (...change) => made?.blindTo(...change) ?? [],
  };
}
