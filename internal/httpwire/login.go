package httpwire

import (
	"context"
	"net/http"
)

// loginKey is the key of what Explain says, in the context of an answer's request.
type loginKey struct{}

// Explain adds to a refusal why the login that there is does not help. Failure makes it part of the error. It is for
// what Options.Wrap puts around the connections.
func Explain(resp *http.Response, why error) {
	if resp.Request != nil {
		resp.Request = resp.Request.WithContext(context.WithValue(resp.Request.Context(), loginKey{}, why))
	}
}

func explanation(resp *http.Response) error {
	if resp.Request == nil {
		return nil
	}
	why, _ := resp.Request.Context().Value(loginKey{}).(error)
	return why
}
