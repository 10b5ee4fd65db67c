// An authorization server for one MCP server: oidc-provider, with its own pages for people, its own rules and a store in
// memory that begins empty. GET /events tells what has happened so far.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import Provider, { errors } from 'oidc-provider';

// The only thing that the provider lacks on Node 20.
URL.parse ??= (text, base) => (URL.canParse(text, base) ? new URL(text, base) : null);

const port = Number(process.argv[2]);
const {
  resource, // the MCP server's identifier, which is compared as it is
  scopes = 'mcp:tools mcp:admin', // that there are for it
  format = 'opaque', // of access tokens for it: opaque or jwt
  life = 3600, // of access tokens, in seconds
  delay = 0, // before the token endpoint looks at a request, in milliseconds
  path = '', // of the issuer
  registration = true, // whether clients register by themselves
  key = null, // the public key of the client "machine-key"
  nonces = false, // whether proofs (DPoP) must have a nonce of the provider
  document = null, // what is at every https address, as the metadata of a client
} = JSON.parse(process.argv[3]);
const issuer = `http://127.0.0.1:${port}${path}`;

const events = [];
const tell = (event, ctx, rest = {}) => {
  const { grant_type, resource, scope } = ctx?.oidc?.params ?? {};
  events.push({ event, client: ctx?.oidc?.client?.clientId, grant_type, resource, scope, ...rest });
};

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'resource', client_secret: 'the secret of the resource', // the MCP server, when it asks about tokens
      redirect_uris: [], response_types: [], grant_types: [], token_endpoint_auth_method: 'client_secret_basic',
    },
    {
      client_id: 'public', application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none',
    },
    ...['basic', 'post'].map((method) => ({
      client_id: method, client_secret: 'a %secret: of+a client', application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'], grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: `client_secret_${method}`,
    })),
    ...['basic', 'post'].map((method) => ({
      client_id: `machine-${method}`, client_secret: 'a %secret: of+a machine', redirect_uris: [], response_types: [],
      grant_types: ['client_credentials'], token_endpoint_auth_method: `client_secret_${method}`,
    })),
    ...(key ? [{
      client_id: 'machine-key', jwks: { keys: [key] }, redirect_uris: [], response_types: [],
      grant_types: ['client_credentials'], token_endpoint_auth_method: 'private_key_jwt',
    }] : []),
  ],
  scopes: ['openid', 'offline_access'],
  pkce: { required: () => true },
  clockTolerance: 0,
  rotateRefreshToken: true,
  cookies: { keys: ['a key of cookies'] },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: registration },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => nonces },
    introspection: { enabled: true, allowedPolicy: (ctx, client) => client.clientId === 'resource' },
    clientIdMetadataDocument: { enabled: document !== null, ack: 'draft-02' },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(ctx, asked) {
        if (asked !== resource) {
          throw new errors.InvalidTarget(`there is no ${asked}`);
        }
        return { scope: scopes, audience: resource, accessTokenFormat: format, accessTokenTTL: life };
      },
    },
  },
  fetch: async () => Response.json(document),
});
provider.on('authorization.accepted', (ctx) => tell('authorization', ctx));
provider.on('authorization.error', (ctx, error) => tell('authorization refused', ctx, { error: error.message }));
provider.on('registration_create.success', (ctx, client) => tell('registration', ctx, { client: client.clientId }));
provider.on('grant.success', (ctx) => tell('token', ctx));
provider.on('grant.error', (ctx, error) => tell('token refused', ctx, {
  error: `${error.message}: ${error.error_detail ?? error.error_description}`,
}));
provider.on('grant.revoked', (ctx) => tell('grant revoked', ctx));
provider.on('server_error', (ctx, error) => console.error(error));

const answer = provider.callback();
createServer(async (req, res) => {
  if (req.url === '/events') {
    res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify(events));
  } else if (!req.url.startsWith(`${path}/`)) { // another server's part of the host
    res.writeHead(404, { 'Content-Type': 'text/html' });
    res.end('<h1>Not found</h1>');
  } else {
    req.originalUrl = req.url; // tells the provider where it is mounted
    req.url = req.url.slice(path.length);
    if (req.url === '/token') {
      await sleep(delay);
    }
    answer(req, res);
  }
}).listen(port, '127.0.0.1');
