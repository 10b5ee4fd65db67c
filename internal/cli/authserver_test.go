package cli_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An authServer is an MCP server and its authorization server, at one address.
type authServer struct {
	*httptest.Server

	mcp http.Handler

	mu      sync.Mutex
	deny    bool              // people refuse
	codes   map[string]string // the challenge that a code was given for
	tokens  map[string]bool   // access and refresh tokens that are good
	given   int               // codes and tokens, which are numbered
	log     []string          // what was asked of the authorization server
	clients int
}

func startAuthServer() *authServer {
	s := &authServer{codes: map[string]string{}, tokens: map[string]bool{}}
	tools := sdk.NewServer(&sdk.Implementation{Name: "locked", Version: "1"}, nil)
	type input struct {
		Text string `json:"text"`
	}
	sdk.AddTool(tools, &sdk.Tool{Name: "say"}, func(
		_ context.Context, _ *sdk.CallToolRequest, in input,
	) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "said " + in.Text}}}, nil, nil
	})
	s.mcp = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools },
		&sdk.StreamableHTTPOptions{Stateless: true})
	routes := http.NewServeMux()
	routes.HandleFunc("/mcp", s.serveMCP)
	routes.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 200, map[string]any{
			"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}, "scopes_supported": []string{"tools"},
		})
	})
	routes.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 200, map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"tools", "offline_access"},
			"authorization_response_iss_parameter_supported": true,
			"token_endpoint_auth_methods_supported":          []string{"client_secret_post", "none"},
		})
	})
	routes.HandleFunc("POST /register", s.register)
	routes.HandleFunc("GET /authorize", s.authorize)
	routes.HandleFunc("POST /token", s.token)
	routes.HandleFunc("POST /revoke", s.revoke)
	s.Server = httptest.NewServer(routes)
	return s
}

func answerJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, value) // whoever has gone sees nothing
}

func (s *authServer) serveMCP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	good := s.tokens[token]
	s.mu.Unlock()
	if !good {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	s.mcp.ServeHTTP(w, r)
}

// next returns a new code or token. The caller holds mu.
func (s *authServer) next(kind string) string {
	s.given++
	return fmt.Sprintf("planted-secret-%s-%d", kind, s.given)
}

func (s *authServer) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
	}
	if err := json.UnmarshalRead(r.Body, &asked); err != nil || len(asked.Redirects) != 1 {
		answerJSON(w, 400, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "register")
	s.clients++
	answerJSON(w, 201, map[string]any{
		"client_id": fmt.Sprintf("client-%d", s.clients), "redirect_uris": asked.Redirects, "token_endpoint_auth_method": "none",
	})
}

// authorize is the page at which people agree or refuse, which they do at once.
func (s *authServer) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := r.URL.Query()
	s.log = append(s.log, "authorize "+asked.Get("client_id")+" "+asked.Get("scope"))
	back := url.Values{"state": {asked.Get("state")}, "iss": {s.URL}}
	if s.deny {
		back.Set("error", "access_denied")
		back.Set("error_description", "not <today>")
	} else {
		code := s.next("code")
		s.codes[code] = asked.Get("code_challenge")
		back.Set("code", code)
	}
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *authServer) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "token "+r.PostFormValue("grant_type"))
	code, old := r.PostFormValue("code"), r.PostFormValue("refresh_token")
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	good := s.tokens[old]
	if code != "" {
		good = s.codes[code] != "" && s.codes[code] == base64.RawURLEncoding.EncodeToString(sum[:])
	}
	delete(s.codes, code)
	delete(s.tokens, old)
	if r.PostFormValue("grant_type") == "client_credentials" {
		s.machine(w, r)
		return
	}
	if !good || r.PostFormValue("resource") != s.URL+"/mcp" {
		answerJSON(w, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	access, refresh := s.next("access"), s.next("refresh")
	s.tokens[access], s.tokens[refresh] = true, true
	who := base64.RawURLEncoding.EncodeToString([]byte(`{"email":"me@example.com"}`))
	answerJSON(w, 200, map[string]any{
		"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600,
		"id_token": base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + who + ".",
	})
}

// machine gives a token to whoever has the secret, and shows that where it is wrong. The caller holds mu.
func (s *authServer) machine(w http.ResponseWriter, r *http.Request) {
	if secret := r.PostFormValue("client_secret"); secret != "planted-secret-of-build" {
		answerJSON(w, 401, map[string]any{"error": "invalid_client", "error_description": "not " + secret})
		return
	}
	access := s.next("access")
	s.tokens[access] = true
	answerJSON(w, 200, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600})
}

func (s *authServer) revoke(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "revoke "+r.PostFormValue("token_type_hint"))
	s.tokens = map[string]bool{}
}
