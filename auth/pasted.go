package auth

import (
	"fmt"
	"net/url"
	"strings"
)

// readPasted reads what a person has pasted: the address at which the browser has ended, which begins with that of the
// window, or its query.
func readPasted(line, window string) (url.Values, error) {
	line = strings.Trim(strings.TrimSpace(line), `"'<>`)
	wanted := fmt.Errorf("paste the whole address at which the browser has ended, which begins with %s?", window)
	if len(line) > longestAddress {
		return nil, fmt.Errorf("that is too long; %w", wanted)
	}
	query := strings.TrimPrefix(line, "?")
	if before, behind, found := strings.Cut(line, "?"); found && before != "" {
		// Some browsers hide the scheme, and copy what they show.
		if !strings.EqualFold(before, window) && "http://"+before != window {
			return nil, fmt.Errorf("that is another address; %w", wanted)
		}
		query = behind
	}
	query, _, _ = strings.Cut(query, "#")
	values, err := readRedirect(query)
	if err != nil {
		return nil, fmt.Errorf("%w; %w", err, wanted)
	}
	if !values.Has("state") || !values.Has("code") && !values.Has("error") {
		return nil, fmt.Errorf("that does not tell which login it belongs to; %w", wanted)
	}
	return values, nil
}

// redirectParameters are those that a redirect must not have twice (RFC 6749, section 3.1; RFC 9207).
var redirectParameters = []string{"code", "state", "iss", "error", "error_description", "error_uri"}

// readRedirect reads the query of a redirect.
func readRedirect(query string) (url.Values, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the parameters can't be read: %w", err)
	}
	for _, name := range redirectParameters {
		if len(values[name]) > 1 {
			return nil, fmt.Errorf("there is more than one %s", name)
		}
	}
	return values, nil
}
