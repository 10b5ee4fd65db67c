// A server on the official TypeScript SDK, over standard input and output or, if a port is given, over HTTP on the
// loopback address. Over HTTP every request gets an instance of its own, so what is shared lives out here.
import { createServer } from 'node:http';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

let cancelled = 0;
let notify = () => {};
const text = (s) => ({ content: [{ type: 'text', text: s }] });

function newServer() {
  const server = new McpServer({ name: 'typescript', version: '1' });
  server.registerTool('hello', { description: 'says hello' }, async () => text('hello'));
  server.registerTool('progress', { description: 'reports progress' }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= 3; progress++) {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
    }
    return text('done');
  });
  server.registerTool('ask', { description: 'asks for input' }, async (ctx) => {
    const answers = ctx.mcpReq.inputResponses;
    if (answers) {
      return text(JSON.stringify(answers));
    }
    return {
      resultType: 'input_required',
      requestState: 'stäte',
      inputRequests: {
        who: {
          method: 'elicitation/create',
          params: {
            mode: 'form', message: 'who?',
            requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          },
        },
        where: { method: 'roots/list' },
        what: {
          method: 'sampling/createMessage',
          params: { messages: [{ role: 'user', content: { type: 'text', text: 'what?' } }], maxTokens: 10 },
        },
      },
    };
  });
  server.registerTool('wait', { description: 'waits until it is cancelled' }, async (ctx) => {
    await ctx.mcpReq.notify({
      method: 'notifications/progress', params: { progressToken: ctx.mcpReq._meta?.progressToken, progress: 1 },
    });
    await new Promise((resolve) => ctx.mcpReq.signal.addEventListener('abort', resolve));
    cancelled++;
    return text('cancelled');
  });
  server.registerTool('cancelled', { description: 'how many calls were cancelled' }, async () => text(String(cancelled)));
  server.registerTool('change', { description: 'tells that the tools have changed' }, async () => {
    notify(server);
    return text('changed');
  });
  return server;
}

const port = process.argv[2];
if (!port) {
  notify = (server) => server.sendToolListChanged();
  serveStdio(newServer);
} else {
  const handler = createMcpHandler(newServer);
  notify = () => handler.notify.toolsChanged();
  createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const response = await handler.fetch(new Request(`http://localhost:${port}${req.url}`, {
      method: req.method, headers: req.headers, body: chunks.length ? Buffer.concat(chunks) : undefined, signal: gone.signal,
    }));
    res.writeHead(response.status, Object.fromEntries(response.headers));
    res.flushHeaders();
    if (response.body) {
      const reader = response.body.getReader();
      res.on('close', () => reader.cancel().catch(() => {}));
      for (;;) {
        const { done, value } = await reader.read().catch(() => ({ done: true }));
        if (done) break;
        res.write(value);
      }
    }
    res.end();
  }).listen(Number(port), 'localhost');
}
