package client

import (
	"bytes"
	"container/list"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"mcpwire/internal/jsonscan"
	"mcpwire/mcp"
)

// Bounds of a resultCache. Past one of them the oldest results go first.
const (
	maxCacheTTL     = 24 * time.Hour
	maxCacheEntries = 1000
	maxCacheBytes   = 32 << 20
)

// A resultCache keeps results for as long as the server allows (2026-07-28, caching). Each page of a list and each
// resource is kept by itself. A cache belongs to one client and so to one authorization: results of either cacheScope
// are kept, none is shared. The zero value is an empty cache; it may be used from several goroutines at once.
type resultCache struct {
	mu      sync.Mutex
	entries map[string]*list.Element
	order   list.List // of *cacheEntry, the oldest first
	bytes   int
	dropped uint64 // how often drop was called
}

type cacheEntry struct {
	key     string
	raw     json.RawMessage
	expires time.Time
}

func (e *cacheEntry) size() int { return len(e.key) + len(e.raw) }

// fresh asks both clocks: the monotonic one stands still while the machine sleeps, the other one may be set.
func (e *cacheEntry) fresh(now time.Time) bool {
	return now.Before(e.expires) && now.Round(0).Before(e.expires.Round(0))
}

// cacheable reports whether results of a method come with a time to live (2026-07-28, caching, cacheable results).
func cacheable(method string) bool {
	switch method {
	case mcp.MethodDiscover, mcp.MethodListTools, mcp.MethodListPrompts, mcp.MethodListResources,
		mcp.MethodListResourceTemplates, mcp.MethodReadResource:
		return true
	}
	return false
}

// cacheKey identifies a request: by its method, the URI if it reads a resource, and all of its params. It is empty, and
// nothing is kept, for one that carries answers to a server that asked for input.
func cacheKey(method string, params json.RawMessage) string {
	key := methodPrefix(method)
	if len(params) == 0 {
		return key
	}
	var p struct {
		URI            string          `json:"uri"`
		InputResponses json.RawMessage `json:"inputResponses"`
		RequestState   json.RawMessage `json:"requestState"`
	}
	if mcp.Decode(params, &p) != nil || p.InputResponses != nil || p.RequestState != nil {
		return ""
	}
	if method == mcp.MethodReadResource {
		key = resourcePrefix(p.URI)
	}
	return key + string(params)
}

// methodPrefix begins the keys of all requests of a method.
func methodPrefix(method string) string { return method + "\n" }

// resourcePrefix begins the keys of all requests that read a resource.
func resourcePrefix(uri string) string { return methodPrefix(mcp.MethodReadResource) + uri + "\n" }

// get returns a result that is fresh. It must not be written to.
func (c *resultCache) get(key string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entries[key]
	if element == nil {
		return nil, false
	}
	e := entryOf(element)
	if !e.fresh(time.Now()) {
		c.remove(element)
		return nil, false
	}
	return e.raw, true
}

// drops counts the calls of drop. It is read before a request is sent, for putSince.
func (c *resultCache) drops() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// putSince keeps a copy of a result that has just been received, for its ttlMs. A result without a positive one is not
// kept, nor is one for the empty key. The request was sent when drops was since: if anything has been dropped in the
// meantime the result may be older than the change, and is not kept.
func (c *resultCache) putSince(key string, raw json.RawMessage, since uint64) {
	ttl := timeToLive(raw)
	e := &cacheEntry{key: key, raw: bytes.Clone(raw), expires: time.Now().Add(ttl)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if key == "" || since != c.dropped {
		return
	}
	if old := c.entries[key]; old != nil {
		c.remove(old)
	}
	if ttl <= 0 || e.size() > maxCacheBytes {
		return
	}
	if c.entries == nil {
		c.entries = make(map[string]*list.Element)
	}
	c.entries[key] = c.order.PushBack(e)
	c.bytes += e.size()
	for len(c.entries) > maxCacheEntries || c.bytes > maxCacheBytes {
		c.remove(c.order.Front())
	}
}

// drop forgets all results whose key begins with prefix, and reports whether there were any.
func (c *resultCache) drop(prefix string) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped++
	for key, element := range c.entries {
		if strings.HasPrefix(key, prefix) {
			c.remove(element)
			found = true
		}
	}
	return found
}

func (c *resultCache) remove(element *list.Element) {
	e := entryOf(element)
	c.order.Remove(element)
	delete(c.entries, e.key)
	c.bytes -= e.size()
}

func entryOf(element *list.Element) *cacheEntry {
	e, _ := element.Value.(*cacheEntry)
	return e
}

// timeToLive returns how long a result stays fresh; 0 where it doesn't say, or says what is no duration.
func timeToLive(raw json.RawMessage) time.Duration {
	var ms float64
	err := jsonscan.Members(raw, func(name, value []byte) error {
		if string(name) != "ttlMs" {
			return nil
		}
		ms = 0
		return mcp.Decode(value, &ms)
	})
	switch {
	case err != nil || ms <= 0:
		return 0
	case ms >= float64(maxCacheTTL/time.Millisecond):
		return maxCacheTTL
	}
	return time.Duration(ms * float64(time.Millisecond))
}
