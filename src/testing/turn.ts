/** What is used of a message port; Node's types leave `onmessage` out. */
interface Port {
  onmessage: () => void;
  postMessage(message: null): void;
  close(): void;
}

/**
 * Resolves in the event loop's next turn: every promise that was ready has run by then, whatever the length of its chain.
 * No time passes; it lets a test say that nothing more happened.
 */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel() as unknown as { port1: Port; port2: Port };
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
