package config_test

import (
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcpwire/config"
)

// variables returns a look-up in pairs of name and value.
func variables(pairs ...string) func(string) (string, bool) {
	known := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		known[pair[0]] = pair[1]
	}
	return func(name string) (string, bool) {
		value, ok := known[name]
		return value, ok
	}
}

// expansions are values and what becomes of them with DEMO_A=x, EMPTY= and LOOP=${DEMO_A}.
var expansions = map[string]string{
	"${DEMO_A}":                         "x",
	"${env:DEMO_A}":                     "x",
	"${DEMO_A:-y}":                      "x",
	"${DEMO_B:-y}":                      "y",
	"${DEMO_B:-}":                       "",
	"${env:DEMO_B:-y z}":                "y z",
	"$${DEMO_A}":                        "${DEMO_A}",
	`\${DEMO_A}`:                        "${DEMO_A}",
	"$$$${DEMO_A}":                      "$${DEMO_A}",
	"$$${DEMO_A}":                       "$x",
	"${EMPTY}":                          "",
	"${EMPTY:-y}":                       "y",
	"${LOOP}":                           "${DEMO_A}",
	"a${DEMO_A}b${DEMO_A}c":             "axbxc",
	"$":                                 "$",
	"$DEMO_A $5 {x} }":                  "$DEMO_A $5 {x} }",
	`\x \$`:                             `\x \$`,
	"${DEMO_B:-${DEMO_A}}":              "x",
	"${DEMO_B:-<${DEMO_C:-${EMPTY}z}>}": "<z>",
	"${DEMO_A:-${UNSET}}":               "x",
	"${DEMO_B:-$${c\\${d}":              "${c${d",
	"${DEMO_B:-https://h:1/?a=b}!":      "https://h:1/?a=b!",
	"${ProgramFiles(x86):-C:/}":         "C:/",
}

func TestExpansionIsAlikeInEveryField(t *testing.T) {
	lookup := variables("DEMO_A", "x", "EMPTY", "", "LOOP", "${DEMO_A}")
	for value, want := range expansions {
		s := config.Server{
			Name: "n", Type: "stdio", Command: value, Args: []string{"-", value}, Env: map[string]string{"E": value}, Cwd: value,
			EnvInherit: config.EnvInherit{Minimal: true, Pass: []string{"P"}},
			URL:        value, Headers: map[string]string{"H": "-" + value}, TLS: config.TLS{CA: value, Cert: value, Key: value},
			Proxy: value, Protocol: value,
		}
		before := s.Fingerprint()
		got, _, err := s.Expand(lookup)
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		expanded := config.Server{
			Name: "n", Type: "stdio", Command: want, Args: []string{"-", want}, Env: map[string]string{"E": want}, Cwd: want,
			EnvInherit: config.EnvInherit{Minimal: true, Pass: []string{"P"}},
			URL:        want, Headers: map[string]string{"H": "-" + want}, TLS: config.TLS{CA: want, Cert: want, Key: want},
			Proxy: want, Protocol: want,
		}
		if !reflect.DeepEqual(got, expanded) {
			t.Errorf("%s: got %+v, want %+v", value, got, expanded)
		}
		if s.Fingerprint() != before || s.Env["E"] != value || s.Args[1] != value {
			t.Errorf("%s: the entry itself has changed", value)
		}
	}
}

func TestReadingExpandsNothing(t *testing.T) {
	t.Setenv("DEMO_A", "x")
	f, _, err := read(t, `{"mcpServers":{"a":{"url":"${DEMO_A}","headers":{"A":"$$"}}}}`)
	if err != nil || f.Servers[0].URL != "${DEMO_A}" || f.Servers[0].Headers["A"] != "$$" {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestAVariableThatIsNotSetIsAnErrorWithItsPlace(t *testing.T) {
	f, _, err := read(t, `{"mcpServers": {"good": {"url": "${DEMO_A}"}, "bad": {"url": "https://h",
  "headers": {"B": "SECRET ${DEMO_UNSET} ${OTHER}", "A": "a"}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	lookup := variables("DEMO_A", "x")
	if s, _, err := f.Servers[0].Expand(lookup); s.URL != "x" || err != nil {
		t.Errorf("good: got %v, %v", s, err)
	}
	s, secrets, err := f.Servers[1].Expand(lookup)
	e, ok := errors.AsType[*config.ExpandError](err)
	if !ok || e.Server != "bad" || e.Field != "headers.B" || e.Variable != "DEMO_UNSET" || e.Place.Line != 2 || e.Place.Column != 20 {
		t.Fatalf("got %+v, %v", e, err)
	}
	want := f.Path + `:2:20: server "bad": headers.B: the variable DEMO_UNSET is not set; ` +
		`set it, or give a default: ${DEMO_UNSET:-default}`
	if err.Error() != want || s.Name != "" || secrets != nil {
		t.Errorf("got %v, %v, %v", err, s, secrets)
	}
}

func TestAReferenceThatCannotBeReadIsAnErrorWithoutTheValue(t *testing.T) {
	for value, want := range map[string]string{
		"SECRET${A":       "a reference that begins with \"${\" has no end",
		"${A:-${SECRET}":  "a reference that begins with \"${\" has no end",
		"${SECRET-x}":     "a reference has no valid name",
		"${}":             "a reference has no valid name",
		"${1A}":           "a reference has no valid name",
		"${input:SECRET}": "a reference has no valid name",
		"${ A}":           "a reference has no valid name",
		"${É}":            "a reference has no valid name",
		strings.Repeat("${A:-", 20) + strings.Repeat("}", 20):           "more than 8 defaults stand in each other",
		strings.Repeat("${A:-", 500_000) + strings.Repeat("}", 500_000): "more than 8 defaults stand in each other",
	} {
		_, _, err := config.Server{Name: "n", Command: value}.Expand(variables())
		if err == nil || !strings.HasPrefix(err.Error(), `server "n": command: `+want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%.40s: got %v, want %q", value, err, want)
		}
	}
}

func TestSecretsArePutTogetherAndShownNowhere(t *testing.T) {
	s := config.Server{
		Name: "n", Command: "${PLAIN}", Args: []string{"${API_KEY}", "${PLAIN}"},
		Env:     map[string]string{"MY_TOKEN": "${VALUE}", "OTHER": "${PLAIN}", "X": "${DB_PASS}", "Y": "${LITERAL_TOKEN:-default}"},
		Headers: map[string]string{"X-Any": "a ${HEADER}", "X-Empty": "${EMPTY}"},
		URL:     "https://${HOST}/?k=${API_KEY}",
	}
	got, secrets, err := s.Expand(variables("PLAIN", "plain", "API_KEY", "key1", "VALUE", "value1", "DB_PASS", "pass1",
		"HEADER", "head1", "EMPTY", "", "HOST", "host1"))
	if err != nil || got.URL != "https://host1/?k=key1" {
		t.Fatal(got, err)
	}
	if want := []string{"default", "head1", "key1", "pass1", "value1"}; !slices.Equal(secrets, want) {
		t.Errorf("got %q, want %q", secrets, want)
	}
}

func TestAHeaderThatBecomesEmptyIsLeftOut(t *testing.T) {
	s := config.Server{Headers: map[string]string{"A": "${X:-}", "B": " ${X:-} ", "C": "c"}}
	got, _, err := s.Expand(variables())
	if err != nil || !maps.Equal(got.Headers, map[string]string{"C": "c"}) || len(s.Headers) != 3 {
		t.Errorf("got %v, %v", got.Headers, err)
	}
}

func TestMaskedShowsReferencesAndNoSecrets(t *testing.T) {
	s := config.Server{
		Name: "n", Command: "run sk-SECRET123",
		Args: []string{
			"--api-key", "SECRET", "--api-key", "${KEY}", "--token=SECRET", "--token=${T}", "-v", "plain",
			"--header", "Authorization: Bearer SECRET", "--header", "Authorization: Bearer ${T:-SECRET}", "X-Api-Key:${T}",
			"--url=https://u:SECRET@h/?token=SECRET&a=b", "postgres://u:SECRET@h/db", "--token", "--next",
			"Bearer SECRET12345678", "${broken SECRET", "--file=${HOME}/x",
		},
		Env: map[string]string{
			"API_KEY": "SECRET", "REF": "${A:-b}", "MY_TOKEN": "${A}${B:-SECRET}", "PLAIN": "p", "SHAPE": "ghp_SECRET0123456789",
			"E_TOKEN": "",
		},
		Headers: map[string]string{
			"Authorization": "Bearer ${T}", "X-Any": "SECRET", "Accept": "text/plain", "User-Agent": "me", "X-Mixed": "SECRET${A}SECRET",
			"Basic": "Basic SECRET",
		},
		URL: "https://u:SECRET@${HOST}/p?token=SECRET&key=${K}&a=b", Proxy: "http://u:SECRET@proxy:1",
	}
	before := s.Fingerprint()
	got := s.Masked()
	if s.Fingerprint() != before {
		t.Error("the entry itself has changed")
	}
	want := config.Server{
		Name: "n", Command: "run ***",
		Args: []string{
			"--api-key", "***", "--api-key", "${KEY}", "--token=***", "--token=${T}", "-v", "plain",
			"--header", "Authorization: Bearer ***", "--header", "Authorization: Bearer ${T:-***}", "X-Api-Key:${T}",
			"--url=https://***@h/?token=***&a=b", "postgres://***@h/db", "--token", "--next",
			"Bearer ***", "***", "--file=${HOME}/x",
		},
		Env: map[string]string{
			"API_KEY": "***", "REF": "${A:-b}", "MY_TOKEN": "${A}${B:-***}", "PLAIN": "p", "SHAPE": "***", "E_TOKEN": "",
		},
		Headers: map[string]string{
			"Authorization": "Bearer ${T}", "X-Any": "***", "Accept": "text/plain", "User-Agent": "me", "X-Mixed": "***${A}***",
			"Basic": "Basic ***",
		},
		URL: "https://***:***@${HOST}/p?token=***&key=${K}&a=b", Proxy: "http://***@proxy:1",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if u := (config.Server{URL: "https://${U}:${P}@h:1/${X:-a}"}).Masked().URL; u != "https://${U}:${P}@h:1/${X:-a}" {
		t.Errorf("references: got %s", u)
	}
}

func TestAReferenceToAFilePutsInWhatItHolds(t *testing.T) {
	dir := tree(t, map[string]string{
		"token": "\n s3cr3t-7Qz2Lm \n", "a$b": "money", "long": strings.Repeat("x", 64<<10+1), "folder/": "",
	})
	origin := filepath.Join(dir, "mcp.json")
	for _, row := range []struct{ value, want, fault string }{
		{"Bearer ${file:token}", "Bearer s3cr3t-7Qz2Lm", ""},
		{"${file:" + filepath.Join(dir, "token") + "}", "s3cr3t-7Qz2Lm", ""},
		{"${file:a$$b} ${file:a$b}", "money money", ""},
		{"$${file:token}", "${file:token}", ""},
		{"${file:none}", "", "the file " + filepath.Join(dir, "none") + " can't be read: "},
		{"${file:folder}", "", "it is no regular file"},
		{"${file:long}", "", "it has more than 65536 bytes"},
		{"${file:}", "", "no valid path"},
		{"${file:${A}}", "", "no valid path"},
	} {
		s := config.Server{Name: "s", Origin: origin, Command: "x", Env: map[string]string{"V": row.value}}
		expanded, secrets, err := s.Expand(variables("A", "1"))
		if row.fault != "" {
			if fault, ok := errors.AsType[*config.ExpandError](err); !ok || !strings.Contains(fault.Reason, row.fault) {
				t.Errorf("%s: got %v, want %s", row.value, err, row.fault)
			}
			continue
		}
		if got := expanded.Env["V"]; err != nil || got != row.want {
			t.Errorf("%s: got %q, %v", row.value, got, err)
		}
		if holds := slices.Contains(secrets, "s3cr3t-7Qz2Lm"); holds != strings.Contains(row.want, "s3cr3t") {
			t.Errorf("%s: the secrets are %q", row.value, secrets)
		}
		if got := s.Masked().Env["V"]; got != row.value {
			t.Errorf("masked: got %s", got)
		}
	}
}
