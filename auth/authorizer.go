package auth

import (
	"context"
	"net/url"
)

// An Authorizer has a person grant us access in a browser. Loopback is one.
type Authorizer interface {
	// Open gets ready to receive a redirect; nothing is shown yet. wish is a redirect URI that an authorization server
	// knows from the last time, empty if there is none; a Window that has it saves a registration.
	Open(ctx context.Context, wish string) (Window, error)
}

// A Window is the way that one flow takes through a browser.
type Window interface {
	// RedirectURI is where the authorization server is to send the browser when it is done. It does not change.
	RedirectURI() string
	// Authorize shows the address of the authorization server to the person, and gives the parameters of each redirect
	// that comes in to accept until accept takes one by returning nil. A redirect that it does not take may come from
	// anybody: whoever sent it is told the error, and the flow stays open. ctx bounds it all; the error is its cause, or
	// tells why there can be no redirect.
	Authorize(ctx context.Context, address string, accept func(url.Values) error) error
	// Close frees what Open took.
	Close()
}
