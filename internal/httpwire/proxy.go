package httpwire

import (
	"net/url"
	"sync"

	"golang.org/x/net/http/httpproxy"
)

// proxies are what the environment says of proxies. What it says is compiled once, until it changes.
type proxies struct {
	mu     sync.Mutex
	config httpproxy.Config
	choose func(*url.URL) (*url.URL, error) // as config has it; nil: not compiled yet
}

// environment is that of the process.
var environment proxies

func (p *proxies) proxy(of *url.URL) (*url.URL, error) {
	now := httpproxy.FromEnvironment()
	p.mu.Lock()
	if p.choose == nil || p.config != *now {
		p.config, p.choose = *now, now.ProxyFunc()
	}
	choose := p.choose
	p.mu.Unlock()
	return choose(of)
}

// proxy returns the proxy of requests to an address. It goes by the environment as it is now: net/http's own function
// remembers what it read first.
func (o *Options) proxy(of *url.URL) (*url.URL, error) {
	if o.Proxy != nil {
		return o.Proxy(of)
	}
	return environment.proxy(of)
}
