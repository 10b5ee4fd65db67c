package auth_test

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"mcpwire/auth"
)

const (
	publicServer   = "https://8.8.8.8/mcp"
	privateServer  = "https://10.1.2.3/mcp"
	loopbackServer = "http://127.0.0.1:8080/mcp"
)

func TestAddressesThatServersMayName(t *testing.T) {
	for address, want := range map[string]string{ // "": right; else why it is refused
		"https://as.example/token":       "",
		"https://as.example:8443/a?b=c":  "",
		"https://8.8.4.4/":               "",
		"https://[2606:4700::1111]/":     "",
		"https://EXAMPLE.com./":          "",
		"http://as.example/token":        "https://",
		"HTTP://as.example":              "https://",
		"http://127.0.0.1:1/":            "only for a server on this machine",
		"http://localhost/":              "only for a server on this machine",
		"ftp://as.example/":              "https://",
		"javascript:alert(1)":            "no host",
		"file:///etc/passwd":             "no host",
		"https:as.example":               "no host",
		"https://":                       "no host",
		"https://:443/":                  "no host",
		"//as.example/":                  "https://",
		"":                               "no host",
		"as.example":                     "no host",
		"https://me@as.example/":         "login",
		"https://me:hunter22@as.example": "login",
		"https://as.example@127.0.0.1/":  "login",
		"https://as.example/#part":       "fragment",
		"https://as.example/#":           "fragment",
		"https://as.example/a b":         "characters",
		" https://as.example/":           "characters",
		"https://as.example/\n":          "characters",
		"https://as.example/\x00":        "characters",
		"https://as.example/\x1b[31m":    "characters",
		"https://as.exämple/":            "characters",
		"https://as.example/%zz":         "not valid",
		"https://[::1/":                  "not valid",
		"https://127.0.0.1/":             "public network",
		"https://127.8.9.1/":             "public network",
		"https://127.0.0.1./":            "public network",
		"https://localhost/":             "public network",
		"https://LOCALHOST./":            "public network",
		"https://a.localhost/":           "public network",
		"https://a.localhost.:443/":      "public network",
		"https://[::1]/":                 "public network",
		"https://[::ffff:127.0.0.1]/":    "public network",
		"https://[::ffff:a9fe:a9fe]/":    "public network",
		"https://[64:ff9b::a9fe:a9fe]/":  "public network",
		"https://[64:ff9b::7f00:1]/":     "public network",
		"https://[::127.0.0.1]/":         "public network",
		"https://[2002:7f00:1::]/":       "public network",
		"https://[fe80::1%25eth0]/":      "public network",
		"https://[fc00::1]/":             "public network",
		"https://[fd00:ec2::254]/":       "public network",
		"https://169.254.169.254/latest": "public network",
		"https://169.254.169.254./":      "public network",
		"https://168.63.129.16/":         "public network",
		"https://100.100.100.200/":       "public network",
		"https://10.0.0.1/":              "public network",
		"https://172.16.0.1/":            "public network",
		"https://192.168.1.1:8443/":      "public network",
		"https://0.0.0.0/":               "public network",
		"https://[::]/":                  "public network",
		"https://224.0.0.1/":             "public network",
		"https://255.255.255.255/":       "public network",
		"https://2130706433/":            "number",
		"https://0x7f000001/":            "number",
		"https://0x7f.1/":                "number",
		"https://127.1/":                 "number",
		"https://0177.0.0.1/":            "number",
		"https://127.0.0.0x1/":           "number",
		"https://10.0.0.1../":            "number",
		"https://./":                     "number",
	} {
		err := auth.Check(publicServer, address, false)
		refused, is := errors.AsType[*auth.AddressError](err)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", address, err)
		case want != "" && (!is || !strings.Contains(refused.Reason, want) || strings.Contains(err.Error(), "hunter22")):
			t.Errorf("%q: got %v", address, err)
		}
	}
}

func TestWhoMayNamePrivateAddresses(t *testing.T) {
	for _, tt := range []struct {
		endpoint, address string
		allow, ok         bool
	}{
		{publicServer, "https://10.0.0.1/", true, true},
		{publicServer, "https://127.0.0.1/", true, true},
		{publicServer, "http://127.0.0.1/", true, false},
		{publicServer, "http://10.0.0.1/", true, false},
		{privateServer, "https://10.0.0.1/", false, true},
		{privateServer, "http://10.0.0.1/", false, false},
		{privateServer, "http://127.0.0.1/", false, false},
		{loopbackServer, "http://127.0.0.1:1/", false, true},
		{loopbackServer, "http://localhost/", false, true},
		{loopbackServer, "http://[::1]:80/", false, true},
		{"http://[::1]/mcp", "http://127.0.0.1/", false, true},
		{"http://app.localhost/mcp", "http://localhost:1/", false, true},
		{loopbackServer, "http://10.0.0.1/", false, false},
		{loopbackServer, "http://as.example/", false, false},
		{loopbackServer, "https://10.0.0.1/", false, true},
		{loopbackServer, "https://2130706433/", false, false},
	} {
		if err := auth.Check(tt.endpoint, tt.address, tt.allow); (err == nil) != tt.ok {
			t.Errorf("%s names %s, allowed %t: %v", tt.endpoint, tt.address, tt.allow, err)
		}
	}
}

// A name may stand for any address, which is known when it is dialled.
func TestAddressesThatNamesStandFor(t *testing.T) {
	for _, tt := range []struct {
		endpoint, address string
		allow, ok         bool
	}{
		{publicServer, "8.8.4.4:443", false, true},
		{publicServer, "[2606:4700::1111]:443", false, true},
		{publicServer, "127.0.0.1:443", false, false},
		{publicServer, "[::1]:443", false, false},
		{publicServer, "[::ffff:10.0.0.1]:443", false, false},
		{publicServer, "169.254.169.254:80", false, false},
		{publicServer, "[fe80::1%eth0]:443", false, false},
		{publicServer, "somewhere:443", false, false},
		{publicServer, "10.0.0.1:443", true, true},
		{privateServer, "10.0.0.1:443", false, true},
		{loopbackServer, "10.0.0.1:443", false, true},
		{"https://nowhere.invalid/mcp", "10.0.0.1:443", false, false},
	} {
		if err := auth.Dial(tt.endpoint, tt.address, tt.allow); (err == nil) != tt.ok {
			t.Errorf("%s, %s, allowed %t: %v", tt.endpoint, tt.address, tt.allow, err)
		}
	}
}

// The server's own name is looked up too, so that a public one can't turn out to be a private address.
func TestARefusedAddressIsNotConnectedTo(t *testing.T) {
	f := newFake(t)
	f.answer("mcp /mcp", func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	at := netip.MustParseAddrPort(strings.TrimPrefix(f.mcp.URL, "http://"))
	for _, named := range []string{"https://as.example/", f.mcp.URL} {
		err := auth.Check(publicServer, named, false)
		if refused := err != nil; refused != (named == f.mcp.URL) {
			t.Errorf("%s: %v", named, err)
		}
	}
	if err := auth.Dial(publicServer, at.String(), false); err == nil {
		t.Error("it may be dialled")
	}
}

func TestNoForeignNetworkIsPublicInDisguise(t *testing.T) {
	for _, text := range []string{"10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.0.1", "100.64.0.1", "0.0.0.0"} {
		four := netip.MustParseAddr(text)
		b := four.As4()
		for _, prefix := range []string{"::ffff:0:0", "64:ff9b::", "::", "64:ff9b:1::", "::ffff:0:0:0"} {
			six := netip.MustParseAddr(prefix).As16()
			copy(six[12:], b[:])
			if auth.IsPublic(netip.AddrFrom16(six)) {
				t.Errorf("%s is public", netip.AddrFrom16(six))
			}
		}
		if auth.IsPublic(four) {
			t.Errorf("%s is public", four)
		}
	}
}
