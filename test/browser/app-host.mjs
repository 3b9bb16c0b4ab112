/** The script of a page that is a host of MCP Apps, by the official bridge. It shows one view. */
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

/** Gives how the view introduces itself. Its calls of tools are the test's `callTool`. */
window.show = async (html, input, result) => {
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts';
  document.body.append(frame);
  const bridge = new AppBridge(null, { name: 'host', version: '1' }, { serverTools: {} });
  bridge.oncalltool = (params) => window.callTool(params);
  bridge.onsizechange = ({ height }) => {
    frame.height = height;
  };
  const initialized = new Promise((resolve) => {
    bridge.oninitialized = resolve;
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await initialized;
  await bridge.sendToolInput({ arguments: input });
  await bridge.sendToolResult(result);
  window.tearDown = () => bridge.teardownResource({});
  return bridge.getAppVersion();
};
