package config_test

import (
	"slices"
	"strings"
	"testing"

	"mcpwire/config"
)

func TestWhatAnArgumentIsToldByItsNames(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string // joined by blanks
		told []string
	}{
		{[]string{"--api-key", "hunter2"}, "--api-key ***", []string{"hunter2"}},
		{[]string{"--api-key", "${MINE}"}, "--api-key ${MINE}", []string{"mine1"}},
		{[]string{"--api-key", "a-${MINE}"}, "--api-key ***${MINE}", []string{"a-mine1", "mine1"}},
		{[]string{"--api-key=${NONE:-hunter2}"}, "--api-key=${NONE:-***}", []string{"hunter2"}},
		{[]string{"--api-key", "--next"}, "--api-key --next", nil},
		{[]string{"API_KEY=hunter2", "MODE=fast"}, "API_KEY=*** MODE=fast", []string{"hunter2"}},
		{[]string{"--env=DB_PASS=hunter2"}, "--env=DB_PASS=***", []string{"hunter2"}},
		{[]string{"--header=X-Api-Key: hunter2"}, "--header=X-Api-Key: ***", []string{"hunter2"}},
		{[]string{"-H", "Authorization: Bearer ${MINE}"}, "-H Authorization: Bearer ${MINE}", []string{"mine1"}},
		{[]string{"--header=Authorization: Bearer hunter2"}, "--header=Authorization: Bearer ***", []string{"hunter2"}},
		{[]string{"--header=Accept: text/plain"}, "--header=Accept: text/plain", nil},
		{[]string{"ghp_0123456789abcdef"}, "***", []string{"ghp_0123456789abcdef"}},
		{[]string{"--db=postgres://u:hunter2@h/db"}, "--db=postgres://***@h/db", []string{"hunter2"}},
		{[]string{"${NONE:-a=b}", "${NONE:-token=b}"}, "${NONE:-a=b} ${NONE:-token=***}", nil},
		{[]string{"--a=--b=C_TOKEN=hunter2"}, "--a=--b=C_TOKEN=***", []string{"hunter2"}},
		{[]string{"see http://h/?token=hunter2 or http://u:hunter3@h2"}, "see http://h/?token=*** or http://***@h2", []string{"hunter2", "hunter3"}},
	} {
		s := config.Server{Name: "n", Command: "c", Args: row.args}
		if got := strings.Join(s.Masked().Args, " "); got != row.want {
			t.Errorf("%q: shown as %s, want %s", row.args, got, row.want)
		}
		_, told, err := s.Expand(variables("MINE", "mine1"))
		if err != nil || !slices.Equal(told, row.told) {
			t.Errorf("%q: told are %q, want %q (error %v)", row.args, told, row.told, err)
		}
		if own := s.Secrets(); !strings.Contains(row.want, "$") && !strings.Contains(row.args[0], "$") &&
			!slices.Equal(own, row.told) {
			t.Errorf("%q: its secrets are %q, want %q", row.args, own, row.told)
		}
	}
}

func TestLoginsOfAddressesAreMaskedInEveryValue(t *testing.T) {
	for _, row := range []struct {
		address, want string
		told          []string
	}{
		{"https://h/p?a=b#c", "https://h/p?a=b#c", nil},
		{"https://h/@scope/pkg", "https://h/@scope/pkg", nil},
		{"postgres://u:hunter2@h/db", "postgres://***@h/db", []string{"hunter2"}},
		{"postgres://u:hunter%32@h/db", "postgres://***@h/db", []string{"hunter%32", "hunter2"}},
		{"https://hunter2@h", "https://***@h", []string{"hunter2"}},
		{"hunter2@tps://h/p", "***@tps://h/p", []string{"hunter2"}},
		{"https://u:hunt/er2@h/p", "https://***@h/p", []string{"hunt/er2"}},
		{"https://u:hunt#er2@h/p", "https://***@h/p", []string{"hunt#er2"}},
		{"a://u:hunter2@h1,b://v:hunter3@h2", "a://***@h1,b://***@h2", []string{"hunter2", "hunter3"}},
		{"https://${U:-a/b}:hunter2@h/p", "https://${U:-***}:***@h/p", []string{"hunter2"}},
		{"https://u:hunt/er2@${H}/p", "https://***:***@${H}/p", []string{"hunt/er2"}},
		{"https://u:${PW}@h/p", "https://***:${PW}@h/p", []string{"pass1"}},
		{"https://${H}/?k=${U}&x_token=hunter2;sig=${U}", "https://${H}/?k=${U}&x_token=***;sig=${U}", []string{"hunter2", "user1"}},
		{"https://h/?client%5Fsecret=hunter2#access_token=hunter3", "https://h/?client%5Fsecret=***#access_token=***", []string{"hunter2", "hunter3"}},
	} {
		s := config.Server{
			Name: "n", Command: row.address, Args: []string{row.address}, Env: map[string]string{"E": row.address},
			Headers: map[string]string{"Origin": row.address}, URL: row.address, Proxy: row.address,
		}
		m := s.Masked()
		for place, got := range map[string]string{
			"command": m.Command, "args": m.Args[0], "env": m.Env["E"], "headers": m.Headers["Origin"], "url": m.URL, "proxy": m.Proxy,
		} {
			if got != row.want {
				t.Errorf("%s in %s: got %s, want %s", row.address, place, got, row.want)
			}
		}
		s.Headers = nil
		_, told, err := s.Expand(variables("H", "h", "U", "user1", "PW", "pass1"))
		if err != nil || !slices.Equal(told, row.told) {
			t.Errorf("%s: told are %q, want %q (error %v)", row.address, told, row.told, err)
		}
	}
	for address, want := range map[string]string{
		"u:hunter2@proxy:3128": "***@proxy:3128", "${BASE}hunter2@h": "${BASE}***@h", "proxy:3128": "proxy:3128", "none": "none",
	} {
		if got := (config.Server{Proxy: address}).Masked().Proxy; got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestDefaultsOfSecretsAreTold(t *testing.T) {
	s := config.Server{
		Name: "n", Command: "${A:-plain}", Args: []string{"${B_TOKEN:-${C:-hunter2}}"},
		Env:     map[string]string{"D_KEY": "${A:-hunter3}", "E_KEY": "hunter4", "F": "${A:-x}"},
		Headers: map[string]string{"X-Any": "literal ${A:-hunter5}"},
	}
	_, told, err := s.Expand(variables())
	if want := []string{"hunter2", "hunter3", "hunter4", "hunter5"}; err != nil || !slices.Equal(told, want) {
		t.Errorf("told are %q, want %q (error %v)", told, want, err)
	}
}

func TestTheSecretsOfAnEntryWithoutReferencesAreToldByItself(t *testing.T) {
	s := config.Server{
		URL: "https://u:hunt%32@h/p?token=hunter3", Proxy: "http://alone@p",
		Headers: map[string]string{"Authorization": "Bearer hunter4", "Accept": "text/plain", "X-Team": "hunter5"},
		Env:     map[string]string{"API_KEY": "hunter6", "MODE": "fast"},
	}
	want := []string{"alone", "hunt%32", "hunt2", "hunter3", "hunter4", "hunter5", "hunter6"}
	if got := s.Secrets(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
