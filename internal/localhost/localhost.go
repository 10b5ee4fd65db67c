// Package localhost keeps a server that is meant for this machine from being reached through its user's browser.
package localhost

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Is reports whether an address, with or without a port, is one of this machine alone.
func Is(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// Only refuses, with 403, what comes under another name than this machine's own or from a page of elsewhere: a page can
// have its own name lead here (DNS rebinding; 2025-11-25, transports, security warning).
func Only(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		from, err := url.Parse(origin)
		if !Is(r.Host) || origin != "" && (err != nil || !Is(from.Host)) {
			http.Error(w, "only requests of this machine are served", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
