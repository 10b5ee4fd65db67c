package config_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcpwire/config"
)

// block reads an entry with a block for logging in.
func block(t *testing.T, text string) (*config.File, []string) {
	t.Helper()
	f, problems, err := read(t, `{"mcpServers":{"web":{"url":"https://h/mcp","auth":`+text+`}}}`)
	if err != nil {
		t.Fatal(err)
	}
	return f, problems
}

// full is a block in which everything is said.
var full = config.Auth{
	ClientID: "me", ClientSecret: "hunter2", Issuer: "https://as.example.com/t1", Scopes: []string{"a:read", "b"},
	CallbackPort: 8123, ClientMetadataURL: "https://me.example.com/client.json", TokenAuthMethod: "client_secret_post",
	AllowPrivateNetworks: true,
}

const fullText = `{"clientId": "me", "clientSecret": "hunter2", "issuer": "https://as.example.com/t1", "scopes": ["a:read", "b"], ` +
	`"callbackPort": 8123, "clientMetadataUrl": "https://me.example.com/client.json", "tokenAuthMethod": "client_secret_post", ` +
	`"allowPrivateNetworks": true}`

func TestABlockForLoggingInIsRead(t *testing.T) {
	for text, want := range map[string]config.Auth{
		`{}`:                          {},
		`"none"`:                      {Off: true},
		`{"scope": " a:read  b "}`:    {Scopes: []string{"a:read", "b"}},
		`{"scope": ""}`:               {Scopes: []string{}},
		`{"scope": "${S:-a b}"}`:      {Scopes: []string{"${S:-a b}"}},
		`{"issuer": "${ISSUER}"}`:     {Issuer: "${ISSUER}"},
		`{"tokenAuthMethod": "none"}`: {TokenAuthMethod: "none"},
		`{"clientId": "me", "privateKey": "/k.pem", "tokenAuthMethod": "private_key_jwt", "signingAlgorithm": "ES256"}`: {
			ClientID: "me", PrivateKey: "/k.pem", TokenAuthMethod: "private_key_jwt", SigningAlgorithm: "ES256",
		},
	} {
		f, problems := block(t, text)
		if problems != nil || len(f.Servers) != 1 || !reflect.DeepEqual(f.Servers[0].Auth, want) {
			t.Errorf("%s: got %+v, %q", text, f.Servers, problems)
		}
	}
	f, problems := block(t, fullText)
	want := `warning mcp.json:1:52: server "web": auth has both clientId and clientMetadataUrl; the clientId counts`
	if len(problems) != 1 || problems[0] != want || !reflect.DeepEqual(f.Servers[0].Auth, full) {
		t.Errorf("got %+v, %q", f.Servers, problems)
	}
}

func TestAMistakeInABlockForLoggingInIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`true`:                               `auth must be an object, or "none"`,
		`"off"`:                              `auth must be an object, or "none"`,
		`{"clientId": 1}`:                    `auth has clientId, which must be a string, not a number`,
		`{"clientId": "a", "clientId": "a"}`: `auth has clientId twice`,
		`{"scopes": "a b"}`:                  `auth has scopes, which must be an array of strings, not a string`,
		`{"scopes": ["a b"]}`:                `auth has scopes, which must hold words without blanks`,
		`{"scopes": [""]}`:                   `auth has scopes, which must hold words`,
		`{"scope": "ä"}`:                     `auth has scopes, which must hold words`,
		`{"scope": "a", "scopes": ["b"]}`:    `auth has both scope and scopes; give one of them`,
		`{"callbackPort": 0}`:                `auth has callbackPort, which must be a whole number from 1 to 65535`,
		`{"callbackPort": 65536}`:            `auth has callbackPort, which must be a whole number`,
		`{"callbackPort": 1.5}`:              `auth has callbackPort, which must be a whole number`,
		`{"callbackPort": "80"}`:             `auth has callbackPort, which must be a whole number`,
		`{"allowPrivateNetworks": "yes"}`:    `auth has allowPrivateNetworks, which must be true or false, not a string`,
		`{"clientSecret": "SECRET"}`:         `auth has clientSecret, which needs a clientId`,
		`{"clientSecret": "${SECRET}"}`:      `auth has clientSecret, which needs a clientId`,
		`{"tokenAuthMethod": "basic"}`:       `auth has tokenAuthMethod, which must be client_secret_basic, client_secret_post, private_key_jwt or none`,
		`{"clientId": "a", "tokenAuthMethod": "client_secret_basic"}`:            `auth has tokenAuthMethod, which is client_secret_basic, which needs a clientSecret`,
		`{"clientId": "a", "clientSecret": "SECRET", "tokenAuthMethod": "none"}`: `auth has tokenAuthMethod, which is none, which has no use for the clientSecret`,
		`{"clientId": "a", "tokenAuthMethod": "private_key_jwt"}`:                `auth has tokenAuthMethod, which is private_key_jwt, which needs a privateKey`,
		`{"clientId": "a", "privateKey": "k.pem", "tokenAuthMethod": "none"}`:    `auth has privateKey, which is for the tokenAuthMethod private_key_jwt`,
		`{"privateKey": "k.pem"}`:                                               `auth has privateKey, which needs a clientId, or a clientMetadataUrl`,
		`{"clientId": "a", "privateKey": "-----BEGIN SECRET"}`:                  `auth has privateKey, which must be the path of a PEM file, not the key itself`,
		`{"signingAlgorithm": "ES256"}`:                                         `auth has signingAlgorithm, which needs a privateKey`,
		`{"clientId": "a", "privateKey": "k.pem", "signingAlgorithm": "HS256"}`: `auth has signingAlgorithm, which must be one of RS256,`,
		`{"issuer": "as.example.com"}`:                                          `auth has issuer, which must be an https URL`,
		`{"issuer": "http://as.example.com"}`:                                   `auth has issuer, which must be an https URL`,
		`{"issuer": "https://u:SECRET@as.example.com"}`:                         `auth has issuer, which must be an https URL`,
		`{"issuer": "https://as.example.com/?a"}`:                               `auth has issuer, which must be an https URL`,
		`{"clientMetadataUrl": "http://localhost/c.json"}`:                      `auth has clientMetadataUrl, which must be an https URL with a path`,
		`{"clientMetadataUrl": "https://me.example.com/"}`:                      `auth has clientMetadataUrl, which must be an https URL with a path`,
		`{"clientMetadataUrl": "https://me.example.com/c#SECRET"}`:              `auth has clientMetadataUrl, which must be an https URL with a path`,
	} {
		f, problems := block(t, text)
		if len(f.Servers) != 0 || len(problems) != 1 || !strings.HasPrefix(problems[0], `error mcp.json:1:52: server "web": `+want) ||
			strings.Contains(problems[0], "SECRET") {
			t.Errorf("%s: got %q, want %q", text, problems, want)
		}
	}
	for _, fine := range []string{"http://localhost:1/t", "http://[::1]:1", "https://as.example.com", "${BASE}/t"} {
		if f, problems := block(t, `{"issuer": "`+fine+`"}`); problems != nil || len(f.Servers) != 1 {
			t.Errorf("%s: got %q", fine, problems)
		}
	}
}

func TestWhatHasNoEffectForLoggingInIsAWarning(t *testing.T) {
	f, problems, err := read(t, `{"mcpServers": {
  "a": {"url": "https://h", "auth": {"clientID": "x", "scopes_": [], "flow": "x", "issur": "x"}},
  "b": {"command": "c", "auth": {"clientId": "x"}},
  "c": {"url": "https://h", "auth": {"clientId": "x"}, "headers": {"authorization": "Bearer ${T}"}},
  "d": {"url": "https://h", "auth": "none", "headers": {"Authorization": "Bearer ${T}"}},
  "e": {"command": "c", "auth": {}}
}}`)
	want := []string{
		`warning mcp.json:2:38: server "a": auth: unknown key "clientID" is ignored; write "clientId"`,
		`warning mcp.json:2:55: server "a": auth: unknown key "scopes_" is ignored; did you mean "scopes"?`,
		`warning mcp.json:2:70: server "a": auth: unknown key "flow" is ignored`,
		`warning mcp.json:2:83: server "a": auth: unknown key "issur" is ignored; did you mean "issuer"?`,
		`warning mcp.json:3:33: server "b": auth has no effect for a program`,
		`warning mcp.json:4:37: server "c": auth has no effect beside the header Authorization, which is sent as it is`,
	}
	if err != nil || names(f) != "a b c d e" || !slices.Equal(problems, want) {
		t.Errorf("got %v %q\n%s\nwant\n%s", err, names(f), strings.Join(problems, "\n"), strings.Join(want, "\n"))
	}
}

func TestEachValueOfABlockForLoggingInHasItsPlace(t *testing.T) {
	f, _, err := read(t, "{\"mcpServers\": {\"a\": {\"url\": \"https://h\", \"auth\": {\n \"clientId\": \"x\",\n \"scope\": \"a b\"}}}}")
	if err != nil {
		t.Fatal(err)
	}
	for field, line := range map[string]int{"auth": 1, "auth.clientId": 2, "auth.scopes": 3} {
		if at := f.Servers[0].Places[field]; at.Line != line || at.Path != f.Path {
			t.Errorf("%s: got %v", field, at)
		}
	}
}

func TestABlockForLoggingInIsExpandedAndItsSecretTold(t *testing.T) {
	f, problems := block(t, `{"clientId": "${ID}", "clientSecret": "x-${SECRET_PART}", "issuer": "${BASE}/t1",
		"scope": "${SCOPES} c", "privateKey": "keys/$${x}.pem", "tokenAuthMethod": "${METHOD:-}", "signingAlgorithm": "${ALG:-}"}`)
	if problems != nil {
		t.Fatal(problems)
	}
	vars := []string{"ID", "me", "SECRET_PART", "hunter2", "BASE", "https://as.example.com", "SCOPES", " a  b"}
	got, secrets, err := f.Servers[0].Expand(variables(vars...))
	want := config.Auth{
		ClientID: "me", ClientSecret: "x-hunter2", Issuer: "https://as.example.com/t1", Scopes: []string{"a", "b", "c"},
		PrivateKey: filepath.Join(filepath.Dir(f.Path), "keys", "${x}.pem"),
	}
	if err != nil || !reflect.DeepEqual(got.Auth, want) || !slices.Equal(secrets, []string{"hunter2", "x-hunter2"}) {
		t.Errorf("got %+v, %q, %v", got.Auth, secrets, err)
	}
	for _, row := range []struct{ name, value, field, want string }{
		{"BASE", "ftp://SECRET", "auth.issuer", "must be an https URL"},
		{"SCOPES", `SECRET"`, "auth.scopes", "must hold words"},
		{"METHOD", "SECRET", "auth.tokenAuthMethod", "must be client_secret_basic,"},
		{"METHOD", "none", "auth.tokenAuthMethod", "is none, which has no use for the clientSecret"},
		{"ALG", "SECRET", "auth.signingAlgorithm", "must be one of RS256,"},
	} {
		_, secrets, err := f.Servers[0].Expand(variables(append(slices.Clone(vars), row.name, row.value)...))
		e, ok := errors.AsType[*config.ExpandError](err)
		if !ok || e.Field != row.field || e.Variable != "" || e.Place.Line == 0 || !strings.HasPrefix(e.Reason, row.want) ||
			strings.Contains(err.Error(), "SECRET") || secrets != nil {
			t.Errorf("%s=%s: got %v", row.name, row.value, err)
		}
	}
	_, _, err = f.Servers[0].Expand(variables("ID", "me"))
	if e, ok := errors.AsType[*config.ExpandError](err); !ok || e.Field != "auth.clientSecret" || e.Variable != "SECRET_PART" {
		t.Errorf("got %v", err)
	}
}

func TestThePathOfAKeyIsThatOfItsFile(t *testing.T) {
	f, problems := block(t, `{"clientId": "me", "privateKey": "k.pem"}`)
	if want := filepath.Join(filepath.Dir(f.Path), "k.pem"); problems != nil || f.Servers[0].Auth.PrivateKey != want {
		t.Errorf("got %+v, %q", f.Servers, problems)
	}
}

func TestTheSecretOfAClientIsMaskedWhateverItIs(t *testing.T) {
	for secret, want := range map[string]string{
		"hunter2": "***", "${S}": "${S}", "${S:-hunter2}": "${S:-***}", "a b": "***", "${broken": "***", "": "",
	} {
		s := config.Server{URL: "https://h", Auth: config.Auth{ClientID: "me", ClientSecret: secret}}
		if got := s.Masked().Auth; got.ClientSecret != want || got.ClientID != "me" || s.Auth.ClientSecret != secret {
			t.Errorf("%q: got %+v", secret, got)
		}
	}
	s := config.Server{Auth: config.Auth{
		ClientID: "sk-SECRET123", Issuer: "https://u:SECRET@h", PrivateKey: "-----BEGIN SECRET", Scopes: []string{"a", "ghp_SECRET0123456789"},
		ClientMetadataURL: "https://h/c?token=SECRET",
	}}
	want := config.Auth{
		ClientID: "***", Issuer: "https://***@h", PrivateKey: "***", Scopes: []string{"a", "***"},
		ClientMetadataURL: "https://h/c?token=***",
	}
	if got := s.Masked().Auth; !reflect.DeepEqual(got, want) || s.Auth.Scopes[1] == "***" {
		t.Errorf("got %+v", got)
	}
}

func TestTheFingerprintChangesWithWhoLogsIn(t *testing.T) {
	plain := config.Server{URL: "https://h"}
	seen := map[string]config.Auth{plain.Fingerprint(): {}}
	for _, a := range []config.Auth{
		{Off: true},
		{ClientID: "a"},
		{ClientSecret: "a"},
		{Issuer: "a"},
		{ClientMetadataURL: "a"},
		{TokenAuthMethod: "a"},
		{PrivateKey: "a"},
		{SigningAlgorithm: "a"},
		{Scopes: []string{"a"}},
		{Scopes: []string{"a", "b"}},
	} {
		s := plain
		s.Auth = a
		if other, known := seen[s.Fingerprint()]; known {
			t.Errorf("%+v looks like %+v", a, other)
		}
		seen[s.Fingerprint()] = a
	}
	s := plain
	s.Auth = config.Auth{CallbackPort: 1, AllowPrivateNetworks: true}
	if s.Fingerprint() != plain.Fingerprint() {
		t.Error("it changes with what is about this machine")
	}
}

func TestABlockForLoggingInIsWrittenAndReadBackAsItWas(t *testing.T) {
	for _, row := range []struct {
		auth config.Auth
		want string
	}{
		{full, fullText},
		{managed, managedText},
		{config.Auth{Off: true}, `"none"`},
		{
			config.Auth{ClientID: "me", PrivateKey: "/k.pem", SigningAlgorithm: "EdDSA"},
			`{"clientId": "me", "privateKey": "/k.pem", "signingAlgorithm": "EdDSA"}`,
		},
	} {
		s := config.Server{Name: "web", URL: "https://h", Auth: row.auth}
		after, err := config.Added([]byte(`{"mcpServers": {"a": {}}}`), s, false)
		if want := `{"mcpServers": {"a": {}, "web": {"url": "https://h", "auth": ` + row.want + `}}}`; err != nil || string(after) != want {
			t.Errorf("%v, got\n%s\nwant\n%s", err, after, want)
			continue
		}
		f, err := config.Parse("/f", after)
		if err != nil || len(f.Servers) != 1 || !reflect.DeepEqual(f.Servers[0].Auth, row.auth) {
			t.Errorf("read back as %+v, %v", f, err)
		}
	}
	after, err := config.Added(nil, config.Server{Name: "w", URL: "u", Auth: config.Auth{ClientID: "me", Scopes: []string{"a"}}}, false)
	want := "{\n  \"mcpServers\": {\n    \"w\": {\n      \"url\": \"u\",\n      \"auth\": {\n        \"clientId\": \"me\",\n" +
		"        \"scopes\": [\"a\"]\n      }\n    }\n  }\n}\n"
	if err != nil || string(after) != want {
		t.Errorf("%v, got\n%s", err, after)
	}
	if after, err := config.Added(nil, config.Server{Name: "w", URL: "u"}, false); err != nil || strings.Contains(string(after), "auth") {
		t.Errorf("%v, got\n%s", err, after)
	}
}

func TestABlockThatComesFromNoFileCanBeChecked(t *testing.T) {
	if err := full.Check(); err != nil {
		t.Error(err)
	}
	for want, a := range map[string]config.Auth{
		"callbackPort must be a whole number from 1 to 65535":    {CallbackPort: -1},
		"clientSecret needs a clientId":                          {ClientSecret: "x"},
		"issuer must be an https URL without login, query":       {Issuer: "${ISSUER}"},
		"signingAlgorithm needs a privateKey":                    {SigningAlgorithm: "RS256"},
		"scopes must hold words without blanks, quotes and back": {Scopes: []string{"a\\b"}},
	} {
		if err := a.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v", a, err)
		}
	}
	if err := (config.Auth{Off: true, Issuer: "x"}).Check(); err != nil {
		t.Error(err)
	}
}
