package interop_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcpwire/config"
)

// A resource is an MCP server on the official Go SDK, which lets nobody in without a token. Its tool echo needs the
// scope mcp:tools, its tool admin mcp:admin too.
type resource struct {
	web  *httptest.Server
	mux  *http.ServeMux
	id   string // of the server, for the provider
	root string // its origin

	refused  atomic.Int64 // requests
	proofs   sync.Map     // the ids of those that were seen
	mu       sync.Mutex
	accounts map[string]bool // that have called a tool
}

// startResource starts the server without anything on it, so that a provider can be told its address.
func startResource(t *testing.T) *resource {
	t.Helper()
	r := &resource{mux: http.NewServeMux(), accounts: map[string]bool{}}
	r.web = httptest.NewServer(r.mux)
	t.Cleanup(r.web.Close)
	r.root, r.id = r.web.URL, r.web.URL+"/mcp"
	return r
}

// A guard says who is let in.
type guard struct {
	issuer string // what the metadata names
	verify auth.TokenVerifier
	proofs bool // only tokens that are bound to a key are taken, with a proof that has a nonce of the server
	named  bool // a refusal for want of a scope says so by its code, which the SDK leaves out
}

func (r *resource) serve(g guard) {
	server := sdk.NewServer(&sdk.Implementation{Name: "guarded", Version: "1"}, nil)
	for _, name := range []string{"echo", "admin"} {
		sdk.AddTool(server, &sdk.Tool{Name: name}, func(ctx context.Context, _ *sdk.CallToolRequest, in said) (
			*sdk.CallToolResult, any, error,
		) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Message}}}, nil, nil
		})
	}
	const known = "/.well-known/oauth-protected-resource"
	verify := func(ctx context.Context, token string, req *http.Request) (*auth.TokenInfo, error) {
		info, err := g.verify(ctx, token, req)
		if err == nil {
			r.mu.Lock()
			r.accounts[info.UserID] = true
			r.mu.Unlock()
		}
		return info, err
	}
	sessions := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	behind := func(scopes ...string) http.Handler {
		return auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{
			ResourceMetadataURL: r.root + known + "/mcp", Scopes: scopes,
		})(sessions)
	}
	usual, admin := behind("mcp:tools"), behind("mcp:tools", "mcp:admin")
	r.mux.HandleFunc("/mcp", func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		told := &refusals{ResponseWriter: w, resource: r, named: g.named, proofs: g.proofs}
		if g.proofs && !r.proven(told, req, g.verify) {
			return
		}
		if bytes.Contains(body, []byte(`"name":"admin"`)) {
			admin.ServeHTTP(told, req)
			return
		}
		usual.ServeHTTP(told, req)
	})
	metadata := &oauthex.ProtectedResourceMetadata{
		Resource: r.id, AuthorizationServers: []string{g.issuer}, ScopesSupported: []string{"mcp:tools"},
	}
	r.mux.Handle(known+"/mcp", auth.ProtectedResourceMetadataHandler(metadata))
	other := &oauthex.ProtectedResourceMetadata{Resource: r.root, AuthorizationServers: []string{r.root}}
	r.mux.Handle(known, auth.ProtectedResourceMetadataHandler(other)) // of another API on this host
}

func (r *resource) entry() config.Server {
	return config.Server{Name: "guarded", Type: "http", URL: r.id}
}

// refusals counts them.
type refusals struct {
	http.ResponseWriter

	resource *resource
	named    bool
	proofs   bool
}

// WriteHeader implements http.ResponseWriter.
func (w *refusals) WriteHeader(status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		w.resource.refused.Add(1)
	}
	if status == http.StatusForbidden && w.named {
		h := w.Header()
		h.Set("WWW-Authenticate", h.Get("WWW-Authenticate")+`, error="insufficient_scope"`)
	}
	if h := w.Header(); w.proofs && h.Get("WWW-Authenticate") != "" {
		h.Set("WWW-Authenticate", strings.Replace(h.Get("WWW-Authenticate"), "Bearer ", `DPoP algs="ES256", `, 1))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *refusals) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
