package auth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/redact"
)

// rules say which addresses we may be sent to, by an MCP server or by what it names. Both may be hostile: an address
// could be one that only we can reach (2026-07-28, authorization, security considerations; RFC 9728, section 7.7).
type rules struct {
	endpoint *url.URL            // of the MCP server
	private  bool                // addresses in private networks are right
	near     bool                // so are those of this machine, and of what is attached to the same wire
	mask     func(string) string // takes known secrets out of what a server has named
}

// newRules finds out whether the MCP server itself is in a private network. Its name may be looked up for that; one
// that is not found, as behind a proxy, is taken for public. What a look-up says is in the hands of whoever has the
// name: it opens private networks at most, and never this machine.
func newRules(ctx context.Context, endpoint *url.URL, allowPrivate bool) *rules {
	host := endpoint.Hostname()
	ip, err := netip.ParseAddr(host)
	near := allowPrivate || isLoopback(host) || err == nil && !isPublic(ip)
	return &rules{endpoint, near || !isPublicHost(ctx, host), near, func(text string) string { return text }}
}

// allows reports whether an address may be gone to.
func (r *rules) allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return r.near || isPublic(ip) || r.private && ip.IsPrivate()
}

// lookupLimit bounds the look-up of a name.
const lookupLimit = 2 * time.Second

func isPublicHost(ctx context.Context, host string) bool {
	if isLoopback(host) {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return isPublic(ip)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return true
	}
	return len(all) == 0 || slices.ContainsFunc(all, isPublic) // one that is private besides must not open such networks
}

// special are networks that are not for the public besides those that netip knows: those of carriers, of protocols, for
// tests and examples, and the forms in which IPv6 holds an IPv4 address that a gateway may unpack.
var special = func() (all []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32", "192.88.99.0/24",
		"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32",
		"2002::/16", "3fff::/20", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}()

// isPublic reports whether everybody reaches the same host under an address.
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, network := range special {
		if network.Contains(ip) {
			return false
		}
	}
	return true
}

// isLoopback reports whether a host is this machine by its name alone.
func isLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// check returns an address that a server has named, if we may go there. what it is begins the error.
func (r *rules) check(what, raw string) (*url.URL, error) {
	fail := func(why string) (*url.URL, error) {
		return nil, &AddressError{What: what, Address: redact.Line(redact.URL(r.mask(raw)), addressShown), Reason: why}
	}
	if strings.ContainsFunc(raw, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return fail("it has characters that an address can't have")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return fail("it is not valid")
	case u.Opaque != "" || u.Hostname() == "":
		return fail("it has no host")
	case u.User != nil:
		return fail("it holds a login")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return fail("it has a fragment")
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	ip, ipErr := netip.ParseAddr(host)
	switch {
	case ipErr != nil && isNumeric(host):
		return fail("its host is a number that not everybody reads alike")
	case u.Scheme == "https":
	case u.Scheme == "http" && isLoopback(host) && isLoopback(r.endpoint.Hostname()):
	case u.Scheme == "http" && isLoopback(host):
		return fail("http to this machine is only for a server on this machine")
	default:
		return fail("it must begin with https://")
	}
	if !r.near && isLoopback(host) || ipErr == nil && !r.allows(ip) {
		return fail(notPublic)
	}
	return u, nil
}

// isNumeric reports whether a host ends in a number, as 2130706433, 127.1 and 0x7f000001 do: some read them as
// addresses (URL standard, ends in a number checker), others as names.
func isNumeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	hex, isHex := strings.CutPrefix(strings.ToLower(last), "0x")
	return last == "" || strings.Trim(last, "0123456789") == "" || isHex && strings.Trim(hex, "0123456789abcdef") == ""
}

// notPublic is why an address is refused that only some can reach.
const notPublic = `it is not in the public network, and the server is; set "allowPrivateNetworks" in the entry's ` +
	`"auth" if that is right`

// dial checks the address that a name stands for, right before it is connected to.
func (r *rules) dial(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s is no address", address)
	}
	if !r.allows(at.Addr()) {
		return &AddressError{What: "the host's address", Address: at.Addr().String(), Reason: notPublic}
	}
	return nil
}

// addressShown is how much of an address an error shows, in bytes.
const addressShown = 300

// An AddressError tells that a server has named an address that we don't go to.
type AddressError struct {
	What    string // what the address is: "token_endpoint of https://…"
	Address string // as it was named, without secrets, bounded
	Reason  string // why not, and what to do where something can be done
}

// Error returns "<what> is <address>, which is refused: <reason>".
func (e *AddressError) Error() string {
	return fmt.Sprintf("%s is %s, which is refused: %s", e.What, e.Address, e.Reason)
}

// sameOrigin reports whether scheme, host and port are the same.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && httpwire.Port(a) == httpwire.Port(b)
}

// canonical returns the endpoint as a resource is named that has no metadata: as the user wrote it, in lower case up to
// the path, without fragment and login (2026-07-28, authorization, canonical server URI).
func canonical(endpoint *url.URL) string {
	u := *endpoint
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return u.String()
}

var errNoHost = errors.New("the url has no host")

// parseEndpoint reads the address of an MCP server.
func parseEndpoint(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the url is not valid")
	}
	if u.Hostname() == "" {
		return nil, errNoHost
	}
	return u, nil
}
