package client_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
)

func TestResultsAreKeptForTheirTimeToLive(t *testing.T) {
	for _, row := range []struct {
		hint string // members of the result
		kept time.Duration
	}{
		{`"ttlMs":5000,"cacheScope":"public",`, 5 * time.Second},
		{`"ttlMs":5000,"cacheScope":"private",`, 5 * time.Second},
		{`"ttlMs":5000.0,`, 5 * time.Second},
		{`"ttlMs":0.5,`, 500 * time.Microsecond},
		{`"ttlMs":0,`, 0},
		{`"ttlMs":-1,`, 0},
		{`"ttlMs":"5000",`, 0},
		{`"ttlMs":null,`, 0},
		{`"ttlMs":1e400,`, 0},
		{``, 0},
		{`"ttlMs":1e300,`, 24 * time.Hour},
		{`"ttlMs":172800000,`, 24 * time.Hour},
	} {
		t.Run(row.hint, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cache client.ResultCache
				cache.Put("k", json.RawMessage(`{`+row.hint+`"tools":[]}`))
				if row.kept > 0 {
					time.Sleep(row.kept - time.Nanosecond)
					if _, ok := cache.Get("k"); !ok {
						t.Error("it is gone too early")
					}
					time.Sleep(time.Nanosecond)
				}
				if _, ok := cache.Get("k"); ok {
					t.Error("it is still there")
				}
			})
		})
	}
}

// kept is a result of a size that may be kept.
func kept(size int) json.RawMessage {
	const head, tail = `{"ttlMs":60000,"x":"`, `"}`
	return json.RawMessage(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
}

func TestTheCacheIsBoundedAndTheOldestGoFirst(t *testing.T) {
	for _, row := range []struct {
		name          string
		results, size int
		left          int
	}{
		{"by number", 1010, 100, 1000},
		{"by size", 10, 4<<20 - len("key 00"), 8},
		{"one that is too big", 1, 32<<20 + 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cache client.ResultCache
				for i := range row.results {
					cache.Put(fmt.Sprintf("key %02d", i), kept(row.size))
				}
				for i := range row.results {
					_, ok := cache.Get(fmt.Sprintf("key %02d", i))
					if want := i >= row.results-row.left; ok != want {
						t.Errorf("key %d is there: %v", i, ok)
					}
				}
			})
		})
	}
}

func TestANewResultTakesThePlaceOfTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cache client.ResultCache
		for range 33 {
			cache.Put("big", kept(1<<20))
		}
		cache.Put("other", kept(1<<20))
		if _, ok := cache.Get("big"); !ok {
			t.Error("results that were replaced still count")
		}
		cache.Put("big", json.RawMessage(`{"ttlMs":0}`))
		if _, ok := cache.Get("big"); ok {
			t.Error("a result that must not be kept left an older one in place")
		}
	})
}

func TestWhatIsPutIsCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cache client.ResultCache
		raw := kept(100)
		cache.Put("k", raw)
		raw[0] = 'X'
		if got, _ := cache.Get("k"); string(got) != string(kept(100)) {
			t.Errorf("got %s", got)
		}
	})
}

func TestKeysTellRequestsApart(t *testing.T) {
	type request struct{ method, params string }
	for _, row := range []struct {
		name string
		a, b request
		same bool
	}{
		{"the same", request{"tools/list", `{"cursor":"a"}`}, request{"tools/list", `{"cursor":"a"}`}, true},
		{"another page", request{"tools/list", `{"cursor":"a"}`}, request{"tools/list", `{"cursor":"b"}`}, false},
		{"the first page", request{"tools/list", ``}, request{"tools/list", `{"cursor":""}`}, false},
		{"another method", request{"tools/list", ``}, request{"prompts/list", ``}, false},
		{"another resource", request{"resources/read", `{"uri":"a:b"}`}, request{"resources/read", `{"uri":"a:c"}`}, false},
		{"another _meta", request{"resources/read", `{"uri":"a:b"}`}, request{"resources/read", `{"uri":"a:b","_meta":{"x":1}}`}, false},
	} {
		a, b := client.CacheKey(row.a.method, []byte(row.a.params)), client.CacheKey(row.b.method, []byte(row.b.params))
		if a == "" || b == "" || (a == b) != row.same {
			t.Errorf("%s: %q and %q", row.name, a, b)
		}
	}
}

func TestRequestsWithAnswersHaveNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, params := range []string{
			`{"uri":"a:b","inputResponses":{}}`, `{"uri":"a:b","requestState":""}`, `{"uri":"a:b","requestState":"s"}`, `{"uri":1}`,
		} {
			if key := client.CacheKey("resources/read", []byte(params)); key != "" {
				t.Errorf("%s has the key %q", params, key)
			}
		}
		var cache client.ResultCache
		cache.Put("", kept(100))
		if _, ok := cache.Get(""); ok {
			t.Error("a result without a key is kept")
		}
	})
}

func TestDropForgetsWhatHasChanged(t *testing.T) {
	keys := map[string]string{
		"tools":     client.CacheKey("tools/list", nil),
		"tools 2":   client.CacheKey("tools/list", []byte(`{"cursor":"2"}`)),
		"resources": client.CacheKey("resources/list", nil),
		"templates": client.CacheKey("resources/templates/list", nil),
		"a":         client.CacheKey("resources/read", []byte(`{"uri":"file:///a"}`)),
		"a meta":    client.CacheKey("resources/read", []byte(`{"_meta":{},"uri":"file:\/\/\/a"}`)),
		"ab":        client.CacheKey("resources/read", []byte(`{"uri":"file:///ab"}`)),
	}
	for _, row := range []struct {
		prefix string
		gone   string // names, comma separated
	}{
		{"tools/list", "tools,tools 2"},
		{"resources/list", "resources"},
		{"resources/read", "a,a meta,ab"},
		{client.ResourcePrefix("file:///a"), "a,a meta"},
		{"prompts/list", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var cache client.ResultCache
			for _, key := range keys {
				cache.Put(key, kept(100))
			}
			cache.Drop(row.prefix)
			for name, key := range keys {
				_, ok := cache.Get(key)
				if gone := strings.Contains(","+row.gone+",", ","+name+","); ok == gone {
					t.Errorf("after %q: %s is there: %v", row.prefix, name, ok)
				}
			}
		})
	}
}

func TestAResultThatMayBeOlderThanAChangeIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cache client.ResultCache
		asked := cache.Drops()
		cache.Drop("tools/list")
		cache.PutSince("k", kept(100), asked)
		if _, ok := cache.Get("k"); ok {
			t.Error("it was kept")
		}
		cache.PutSince("k", kept(100), cache.Drops())
		if _, ok := cache.Get("k"); !ok {
			t.Error("a newer one was not kept")
		}
	})
}

func TestAListIsReadAgainPageByPageWhenItIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pages(func(cursor string) string {
			if cursor == "" {
				return `{"resultType":"complete","tools":[],"nextCursor":"2","ttlMs":60000,"cacheScope":"public"}`
			}
			return `{"resultType":"complete","tools":[],"ttlMs":1000,"cacheScope":"public"}`
		})
		list := f.answers["tools/list"]
		f.answers["tools/list"] = func(m jsonrpc.Message) string {
			if strings.Contains(string(m.Params), `"cursor":"2"`) {
				m.Params = json.RawMessage(`{"cursor":"2"}`)
			} else {
				m.Params = nil
			}
			return list(m)
		}
		f.answers["server/discover"] = always(discovered)
		c := connect(t, f, client.Options{Protocol: client.ProtocolStateless})
		defer closeClient(t, c)
		for i, row := range []struct {
			after    time.Duration
			requests int
		}{{0, 2}, {999 * time.Millisecond, 2}, {time.Millisecond, 3}, {time.Minute, 5}} {
			time.Sleep(row.after)
			mustList(t, c)
			if got := f.count("tools/list"); got != row.requests {
				t.Errorf("step %d: %d requests, want %d", i, got, row.requests)
			}
		}
	})
}

func TestASessionHasNoCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pages(func(string) string { return `{"tools":[],"ttlMs":60000}` })
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		mustList(t, c)
		mustList(t, c)
		if got := f.count("tools/list"); got != 2 {
			t.Errorf("%d requests", got)
		}
	})
}
