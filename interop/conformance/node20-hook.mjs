// The suite imports globSync from fs, which came with Node 22, for a command that is not used here. On an older Node its
// modules get a stand-in. Use: node --import ./node20-hook.mjs …
import * as fs from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const standIn = 'data:text/javascript,' + encodeURIComponent(`
  export * from 'node:fs';
  export { default } from 'node:fs';
  export function globSync() { throw new Error('fs.globSync needs Node 22'); }
`);

// resolve is called on the loader's own thread, which imports this file too.
export async function resolve(specifier, context, next) {
  const bare = specifier === 'fs' || specifier === 'node:fs';
  if (bare && context.parentURL?.includes('/@modelcontextprotocol/conformance/')) {
    return { url: standIn, shortCircuit: true };
  }
  return next(specifier, context);
}

if (isMainThread && !('globSync' in fs)) {
  register(import.meta.url);
}
