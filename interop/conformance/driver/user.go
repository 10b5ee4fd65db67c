package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"mcpwire/auth"
	"mcpwire/config"
	"mcpwire/mcp"
)

// metadataDocument is where the suite expects a document that describes the client. It is not there.
const metadataDocument = "https://conformance-test.local/client-metadata.json"

// identity returns who the client is for authorization servers, as far as the suite says.
func (h *host) identity(name string) (config.Auth, error) {
	who := config.Auth{ClientMetadataURL: metadataDocument}
	if len(h.context) == 0 {
		return who, nil
	}
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Issuer       string `json:"issuer"`
		PrivateKey   string `json:"private_key_pem"`
		Algorithm    string `json:"signing_algorithm"`
		WorkloadJWT  string `json:"valid_jwt"`
		IDPIssuer    string `json:"idp_issuer"`
		IDPClientID  string `json:"idp_client_id"`
		IDToken      string `json:"idp_id_token"`
	}
	if err := mcp.Decode(h.context, &given); err != nil {
		return who, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	who.ClientID, who.ClientSecret, who.Issuer = given.ClientID, given.ClientSecret, given.Issuer
	who.SigningAlgorithm = given.Algorithm
	var err error
	switch name {
	case "auth/client-credentials-basic":
		who.Grant = config.ClientCredentials
	case "auth/client-credentials-jwt":
		who.Grant = config.ClientCredentials
		who.PrivateKey, err = h.file("key.pem", given.PrivateKey)
	case "auth/wif-jwt-bearer":
		who.Grant = config.JWTBearer
		who.Assertion.File, err = h.file("workload.jwt", given.WorkloadJWT)
	case "auth/enterprise-managed-authorization":
		who.Grant = config.Enterprise
		who.IDP = config.IDP{Issuer: given.IDPIssuer, ClientID: given.IDPClientID}
		who.Assertion.File, err = h.file("id.jwt", given.IDToken)
	}
	if who.IsMachine() {
		who.ClientMetadataURL = ""
	}
	return who, err
}

// file writes a file of the host's, as whoever runs a machine does, and returns its path.
func (h *host) file(name, text string) (string, error) {
	path := filepath.Join(h.folder, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// user is a person who agrees to everything, and whose browser goes no further than to the authorization server.
type user struct{}

// Open implements auth.Authorizer.
func (user) Open(context.Context, string) (auth.Window, error) { return browser{}, nil }

type browser struct{}

// RedirectURI implements auth.Window. Nothing is there.
func (browser) RedirectURI() string { return "http://127.0.0.1:3000/callback" }

// Authorize implements auth.Window.
func (browser) Authorize(ctx context.Context, address string, accept func(url.Values) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		return errors.Join(fmt.Errorf("the authorization server answers HTTP %d", resp.StatusCode), err)
	}
	return accept(back.Query())
}

// Close implements auth.Window.
func (browser) Close() {}
