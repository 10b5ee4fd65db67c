package client

import (
	"encoding/json"
	"testing"
)

// ResultCache is the cache of results, for the tests.
type ResultCache struct{ resultCache }

func (c *ResultCache) Get(key string) (json.RawMessage, bool) { return c.get(key) }
func (c *ResultCache) Put(key string, raw json.RawMessage)    { c.putSince(key, raw, c.drops()) }
func (c *ResultCache) Drop(prefix string)                     { c.drop(prefix) }
func (c *ResultCache) Drops() uint64                          { return c.drops() }

func (c *ResultCache) PutSince(key string, raw json.RawMessage, since uint64) {
	c.putSince(key, raw, since)
}

// LimitWork changes what one check of a value may cost, until the test ends.
func LimitWork(t testing.TB, units int) {
	t.Helper()
	before := maxWork
	maxWork = units
	t.Cleanup(func() { maxWork = before })
}

var (
	CacheKey       = cacheKey
	ResourcePrefix = resourcePrefix
)

// EncodeArguments returns arguments as a call sends them.
func EncodeArguments(args any) (json.RawMessage, error) { return appendArguments(nil, args) }
