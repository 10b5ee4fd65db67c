package toolcache_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcpwire/internal/toolcache"
	"mcpwire/mcp"
)

var key = toolcache.Key("server", "fingerprint")

// example is an entry whose raw members are not as an encoder would write them.
func example() toolcache.Entry {
	yes := true
	return toolcache.Entry{
		Tools: []mcp.Tool{
			{
				Name: "a", Title: "<A>", Description: "first\nsecond é \U0001F600",
				InputSchema:  json.RawMessage("{ \"type\" :\n\t\"object\", \"x\":1.50e+1, \"type\":\"\\u00e9\", \"bad\":\"\xff\" }"),
				OutputSchema: json.RawMessage(`{"const":123456789012345678901234567890}`),
				Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: &yes},
				Icons:        []mcp.Icon{{Src: "https://example.com/i.png", Sizes: mcp.Sizes{"48x48"}}},
				Execution:    &mcp.ToolExecution{TaskSupport: "optional"},
				Meta:         json.RawMessage(`{ }`),
			},
			{Name: "b"},
			{Name: "c", InputSchema: json.RawMessage(`true`)},
		},
		Revision:     mcp.Rev20251125,
		Instructions: "Be brief.",
		Info:         mcp.Implementation{Name: "s", Version: "1"},
	}
}

func store(t *testing.T, c toolcache.Cache, key string, e toolcache.Entry) {
	t.Helper()
	if err := c.Store(key, e); err != nil {
		t.Fatal(err)
	}
}

// stored returns a folder in which the example is stored, and the path and text of the file.
func stored(t *testing.T) (folder, path string, text []byte) {
	t.Helper()
	folder = t.TempDir()
	store(t, toolcache.In(folder), key, example())
	path = filepath.Join(folder, "tools", key)
	return folder, path, read(t, path)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// signed returns a file with the right checksum.
func signed(body string) []byte {
	sum := sha256.Sum256([]byte(body))
	return []byte(hex.EncodeToString(sum[:]) + "\n" + body)
}

// check fails unless the entry under the key is want.
func check(t *testing.T, c toolcache.Cache, key string, want toolcache.Entry) {
	t.Helper()
	got, ok := c.Load(key)
	if !ok {
		t.Error("there is no entry")
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAnEntryIsLoadedAsItWasStored(t *testing.T) {
	folder := t.TempDir()
	c := toolcache.In(folder)
	if e, ok := c.Load(key); ok {
		t.Errorf("an empty cache has %+v", e)
	}
	for _, want := range []toolcache.Entry{
		example(),
		{Tools: []mcp.Tool{}},
		{Tools: []mcp.Tool{{}, {Name: "\n"}}, Instructions: "a\nb\x00"},
		{Tools: example().Tools[:1]},
	} {
		store(t, c, key, want)
		check(t, toolcache.In(folder), key, want)
	}
	store(t, c, key, toolcache.Entry{})
	if e, ok := c.Load(key); !ok || len(e.Tools) != 0 {
		t.Errorf("a server without tools has %+v, %v", e, ok)
	}
	if _, ok := c.Load(toolcache.Key("server", "other")); ok {
		t.Error("another configuration has an entry")
	}
}

// fill gives every member of v a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes(fmt.Appendf(nil, `{ "n": %d }`, *n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Struct:
		for _, member := range v.Fields() {
			fill(member, n)
		}
	default:
		panic("a member of a kind that this test does not know: " + v.Type().String())
	}
}

func TestEveryMemberSurvives(t *testing.T) {
	var want toolcache.Entry
	var n int
	fill(reflect.ValueOf(&want.Tools).Elem(), &n)
	fill(reflect.ValueOf(&want.Info).Elem(), &n)
	c := toolcache.In(t.TempDir())
	store(t, c, key, want)
	check(t, c, key, want)
}

func TestTheFormIsKnown(t *testing.T) {
	_, _, text := stored(t)
	// When this differs, or a type of an entry has a new member, the version of the format must go up.
	want := string(signed(`{"format":1,"key":"` + key + `","revision":"2025-11-25","instructions":"Be brief.",` +
		`"info":{"name":"s","version":"1"},"tools":[{"name":"a","title":"<A>","description":"first\nsecond é ` + "\U0001F600" +
		`","annotations":{"readOnlyHint":true},"icons":[{"src":"https://example.com/i.png","sizes":["48x48"]}],` +
		`"execution":{"taskSupport":"optional"},"inputSchema":63,"outputSchema":40,"_meta":3},{"name":"b"},` +
		`{"name":"c","inputSchema":4}]}` + "\n" +
		"{ \"type\" :\n\t\"object\", \"x\":1.50e+1, \"type\":\"\\u00e9\", \"bad\":\"\xff\" }" +
		`{"const":123456789012345678901234567890}` + `{ }` + `true`))
	if string(text) != want {
		t.Errorf("got  %q\nwant %q", text, want)
	}
	members := func(v any) int { return reflect.TypeOf(v).NumField() }
	if members(mcp.Tool{}) != 9 || members(mcp.Implementation{}) != 6 {
		t.Error("a type of an entry has a new member")
	}
}

func TestAKeyTellsServersAndConfigurationsApart(t *testing.T) {
	if got, want := key, "b5625a9cb024324ce113e0ef954b0a71"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, server := range []string{"", "a", "ab", "a\x00", "../x"} {
		for _, fingerprint := range []string{"b", "bb", "c"} {
			k := toolcache.Key(server, fingerprint)
			name := fmt.Sprintf("%q %q", server, fingerprint)
			if other, ok := seen[k]; ok || strings.Trim(k, "0123456789abcdef") != "" {
				t.Errorf("%s has the key %q as %s", name, k, other)
			}
			seen[k] = name
		}
	}
	if k := toolcache.Key("server", ""); k != "" {
		t.Errorf("no fingerprint has the key %q", k)
	}
}

func TestWithoutAKeyOrAFolderNothingIsKept(t *testing.T) {
	folder := t.TempDir()
	store(t, toolcache.In(folder), "", example())
	store(t, toolcache.Cache{}, key, example())
	for _, c := range []toolcache.Cache{{}, toolcache.In(folder)} {
		for _, k := range []string{"", key, "../x"} {
			if e, ok := c.Load(k); ok {
				t.Errorf("%q has %+v", k, e)
			}
		}
	}
}

func TestADamagedFileIsIgnored(t *testing.T) {
	folder, path, text := stored(t)
	c := toolcache.In(folder)
	ignored := func(damage string, damaged []byte) {
		t.Helper()
		write(t, path, damaged)
		if e, ok := c.Load(key); ok {
			t.Errorf("%s: it has %+v", damage, e)
		}
	}
	for n := range text {
		ignored(fmt.Sprint("cut to ", n), text[:n])
		damaged := []byte(string(text))
		damaged[n] ^= 1 << (n % 8)
		ignored(fmt.Sprint("flipped at ", n), damaged)
	}
	ignored("with more behind it", append([]byte(string(text)), '\n'))
	ignored("twice", append([]byte(string(text)), text...))
	ignored("zeros", make([]byte, len(text)))
	store(t, c, key, example())
	check(t, c, key, example())
}

func TestAFileThatIsWholeButNotOursIsIgnored(t *testing.T) {
	folder, path, text := stored(t)
	c := toolcache.In(folder)
	_, body, _ := strings.Cut(string(text), "\n")
	replaced := func(from, to string) string {
		t.Helper()
		if !strings.Contains(body, from) {
			t.Fatalf("the file does not hold %s", from)
		}
		return strings.Replace(body, from, to, 1)
	}
	for name, body := range map[string]string{
		"an older format":      replaced(`"format":1`, `"format":0`),
		"a newer format":       replaced(`"format":1`, `"format":2`),
		"no format":            replaced(`"format":1,`, ``),
		"another key":          replaced(key, toolcache.Key("server", "other")),
		"a length too small":   replaced(`"inputSchema":4`, `"inputSchema":3`),
		"a length too large":   replaced(`"inputSchema":4`, `"inputSchema":5`),
		"a huge length":        replaced(`"inputSchema":4`, `"inputSchema":9223372036854775807`),
		"a negative length":    replaced(`"inputSchema":4`, `"inputSchema":-4`),
		"a fraction":           replaced(`"inputSchema":4`, `"inputSchema":4.5`),
		"tools that are none":  replaced(`{"name":"b"}`, `"b"`),
		"an index that is cut": body[:100],
		"no index":             "",
		"only lines":           "\n\n\n",
	} {
		write(t, path, signed(body))
		if e, ok := c.Load(key); ok {
			t.Errorf("%s: it has %+v", name, e)
		}
	}
	write(t, path, signed(body))
	check(t, c, key, example())
}

func TestAnEntryCountsForItsLifetime(t *testing.T) {
	folder, path, _ := stored(t)
	c := toolcache.In(folder)
	for _, row := range []struct {
		name string
		age  time.Duration
		want bool
	}{
		{"nearly too old", toolcache.Lifetime - time.Hour, true},
		{"too old", toolcache.Lifetime + time.Hour, false},
		{"a clock that was set back a little", -time.Hour, true},
		{"a clock that was far ahead", -48 * time.Hour, false},
	} {
		then := time.Now().Add(-row.age).Truncate(time.Second)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Load(key); ok != row.want {
			t.Errorf("%s: %v", row.name, ok)
		}
	}
	store(t, c, key, example())
	check(t, c, key, example())
}

func TestOnlyWhatChangedIsWritten(t *testing.T) {
	changed := func(change func(*toolcache.Entry)) toolcache.Entry {
		e := example()
		change(&e)
		return e
	}
	for _, row := range []struct {
		name string
		age  time.Duration
		next toolcache.Entry
		want bool
	}{
		{"the same", time.Hour, example(), false},
		{"the same, younger than half its lifetime", toolcache.Lifetime/2 - time.Hour, example(), false},
		{"the same, older than half its lifetime", toolcache.Lifetime/2 + time.Hour, example(), true},
		{"the same, from the future", -48 * time.Hour, example(), true},
		{"other white space in a schema", time.Hour, changed(func(e *toolcache.Entry) {
			e.Tools[0].OutputSchema = append(e.Tools[0].OutputSchema, ' ')
		}), true},
		{"another order", time.Hour, changed(func(e *toolcache.Entry) {
			e.Tools[1], e.Tools[2] = e.Tools[2], e.Tools[1]
		}), true},
		{"a tool less", time.Hour, changed(func(e *toolcache.Entry) { e.Tools = e.Tools[:2] }), true},
		{"another revision", time.Hour, changed(func(e *toolcache.Entry) { e.Revision = "x" }), true},
		{"other instructions", time.Hour, changed(func(e *toolcache.Entry) { e.Instructions = "" }), true},
		{"another version of the server", time.Hour, changed(func(e *toolcache.Entry) { e.Info.Version = "2" }), true},
	} {
		folder, path, _ := stored(t)
		then := time.Now().Add(-row.age).Truncate(time.Second)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		store(t, toolcache.In(folder), key, row.next)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if wrote := !info.ModTime().Equal(then); wrote != row.want {
			t.Errorf("%s: written is %v", row.name, wrote)
		}
	}
}

func TestAnEntryThatIsTooLargeIsAnErrorAndTheOldOneGoes(t *testing.T) {
	folder, path, _ := stored(t)
	c := toolcache.In(folder)
	large := example()
	large.Tools[1].Meta = json.RawMessage(`"` + strings.Repeat("x", toolcache.MaxSize) + `"`)
	if err := c.Store(key, large); err == nil {
		t.Error("it was stored")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the old entry is still there")
	}
	write(t, path, make([]byte, toolcache.MaxSize+1))
	if _, ok := c.Load(key); ok {
		t.Error("a file that is too large counts")
	}
}

func TestACacheThatCannotBeWrittenIsNoHarm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, nil)
	c := toolcache.In(file)
	if err := c.Store(key, example()); err == nil {
		t.Error("a file served as a folder")
	}
	if _, ok := c.Load(key); ok {
		t.Error("it has an entry")
	}
}

func TestAToolThatGrowsLeavesItsNeighbourAlone(t *testing.T) {
	c := toolcache.In(t.TempDir())
	store(t, c, key, example())
	e, _ := c.Load(key)
	_ = append(e.Tools[0].InputSchema, "overwritten"...)
	_ = append(e.Tools[0].OutputSchema, "overwritten"...)
	if want := example(); !reflect.DeepEqual(e, want) {
		t.Errorf("got  %+v\nwant %+v", e, want)
	}
}

func FuzzAnyFileIsAnEntryOrIgnored(f *testing.F) {
	text := `{"format":1,"key":"` + key + `","tools":[{"name":"a","inputSchema":2,"outputSchema":4}]}` + "\n" + `{}true`
	f.Add([]byte(text))
	f.Add([]byte(strings.Replace(text, "4", "-4", 1)))
	f.Add([]byte("{}\n"))
	folder, otherFolder := f.TempDir(), f.TempDir()
	c, other := toolcache.In(folder), toolcache.In(otherFolder)
	if err := c.Store(key, example()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		write(t, filepath.Join(folder, "tools", key), signed(string(body)))
		if e, ok := c.Load(key); ok {
			store(t, other, key, e)
			check(t, other, key, e)
		}
	})
}
