package config_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcpwire/config"
)

// managed is a block in which everything about the login of a machine is said.
var managed = config.Auth{
	Grant: config.Enterprise, ClientID: "me", ClientSecretFrom: config.SecretSource{Keychain: "build"},
	Assertion: config.SecretSource{Command: []string{"get-token", "--for", "me"}},
	IDP: config.IDP{
		Issuer: "https://idp.example.com", ClientID: "us", ClientSecretFrom: config.SecretSource{Env: "IDP_SECRET"},
	},
	DPoP: new(true),
}

const managedText = `{"grant": "enterprise", "clientId": "me", "clientSecret": {"keychain": "build"}, ` +
	`"assertion": {"command": ["get-token", "--for", "me"]}, ` +
	`"idp": {"issuer": "https://idp.example.com", "clientId": "us", "clientSecret": {"env": "IDP_SECRET"}}, "dpop": true}`

func TestABlockForTheLoginOfAMachineIsRead(t *testing.T) {
	for text, want := range map[string]config.Auth{
		managedText:                       managed,
		`{"grant": "authorization_code"}`: {Grant: config.AuthorizationCode},
		`{"dpop": false}`:                 {DPoP: new(false)},
		`{"grant": "client_credentials", "clientId": "me", "clientSecret": "x"}`: {
			Grant: config.ClientCredentials, ClientID: "me", ClientSecret: "x",
		},
		`{"grant": "client_credentials", "clientId": "me", "privateKey": "/k.pem"}`: {
			Grant: config.ClientCredentials, ClientID: "me", PrivateKey: "/k.pem",
		},
		`{"grant": "jwt-bearer", "assertion": {"file": "/run/token"}}`: {
			Grant: config.JWTBearer, Assertion: config.SecretSource{File: "/run/token"},
		},
	} {
		f, problems := block(t, text)
		if problems != nil || len(f.Servers) != 1 || !reflect.DeepEqual(f.Servers[0].Auth, want) {
			t.Errorf("%s: got %+v, %q", text, f.Servers, problems)
			continue
		}
		if got := f.Servers[0].Auth.IsMachine(); got != (want.Grant != "" && want.Grant != config.AuthorizationCode) {
			t.Errorf("%s: a machine's: %v", text, got)
		}
	}
}

func TestAMistakeInABlockForTheLoginOfAMachineIsNamed(t *testing.T) {
	const one = `must have one of file, env, keychain and command`
	for text, want := range map[string]string{
		`{"grant": "password"}`:            `auth has grant, which must be authorization_code, client_credentials, jwt-bearer or enterprise`,
		`{"grant": "${GRANT}"}`:            `auth has grant, which must be authorization_code,`,
		`{"grant": "client_credentials"}`:  `auth has grant, which is client_credentials, which needs a clientId`,
		`{"grant": "jwt-bearer"}`:          `auth has grant, which is jwt-bearer, which needs an assertion`,
		`{"grant": "enterprise"}`:          `auth has grant, which is enterprise, which needs an assertion`,
		`{"assertion": {"env": "A"}}`:      `auth has assertion, which is for the grants jwt-bearer and enterprise`,
		`{"idp": {"clientId": "a"}}`:       `auth has idp, which is for the grant enterprise`,
		`{"idp": "https://idp"}`:           `auth has idp, which must be an object with issuer and clientId, not a string`,
		`{"idp": {"url": "x"}}`:            `auth has idp, which has the unknown key "url"`,
		`{"dpop": "yes"}`:                  `auth has dpop, which must be true or false`,
		`{"assertion": "SECRET"}`:          `auth has assertion, which ` + one,
		`{"assertion": {}}`:                `auth has assertion, which ` + one,
		`{"assertion": {"path": "/x"}}`:    `auth has assertion, which has the unknown key "path"`,
		`{"assertion": {"command": "x"}}`:  `auth has assertion, which has command, which must be an array of strings`,
		`{"assertion": {"env": "A B"}}`:    `auth has assertion, which has env, which is no name of a variable`,
		`{"assertion": {"command": [""]}}`: `auth has assertion, which has command, which does not begin with a program`,
		`{"clientSecret": 1}`:              `auth has clientSecret, which must be a string, or an object that says where it is read, not a number`,
		`{"clientSecret": {"env": "A"}}`:   `auth has clientSecret, which needs a clientId`,
		`{"grant": "jwt-bearer", "assertion": {"env": "A", "file": "/x"}}`: `auth has assertion, which ` + one,
		`{"grant": "client_credentials", "clientId": "a"}`:                 `auth has grant, which is client_credentials, which needs a clientSecret or a privateKey`,
		`{"grant": "enterprise", "assertion": {"env": "A"}}`:               `auth has grant, which is enterprise, which needs a clientId`,
		`{"grant": "enterprise", "clientId": "a", "assertion": {"env": "A"}, "idp": {"clientId": "b"}}`: `auth has grant, ` +
			`which is enterprise, which needs an idp with its issuer and clientId`,
		`{"grant": "enterprise", "clientId": "a", "assertion": {"env": "A"}, "idp": {"clientId": "b", "issuer": "http://idp"}}`: `auth ` +
			`has idp, which has issuer, which must be an https URL`,
		`{"grant": "jwt-bearer", "assertion": {"env": "A"}, "callbackPort": 80}`: `auth has callbackPort, which is for a browser`,
		`{"grant": "jwt-bearer", "assertion": {"env": "A"}, "clientMetadataUrl": "https://me.example.com/c"}`: `auth has ` +
			`clientMetadataUrl, which has no use with the grant jwt-bearer`,
	} {
		f, problems := block(t, text)
		if len(f.Servers) != 0 || len(problems) != 1 || !strings.HasPrefix(problems[0], `error mcp.json:1:52: server "web": `+want) ||
			strings.Contains(problems[0], "SECRET") {
			t.Errorf("%s: got %q, want %q", text, problems, want)
		}
	}
}

func TestWhereSecretsAreReadIsExpanded(t *testing.T) {
	f, problems := block(t, `{"grant": "jwt-bearer", "clientId": "me", "clientSecret": {"file": "secrets/$${x}"},
		"assertion": {"command": ["${TOOL}", "--audience", "${AUDIENCE:-x}"]}}`)
	if problems != nil {
		t.Fatal(problems)
	}
	got, _, err := f.Servers[0].Expand(variables("TOOL", "get-token"))
	if err != nil || !slices.Equal(got.Auth.Assertion.Command, []string{"get-token", "--audience", "x"}) {
		t.Errorf("got %+v, %v", got.Auth, err)
	}
	if file := got.Auth.ClientSecretFrom.File; filepath.Base(file) != "${x}" || !filepath.IsAbs(file) {
		t.Errorf("the file is %s", file)
	}
	if text := f.Servers[0].Auth.Assertion.Command[0]; text != "${TOOL}" {
		t.Errorf("the entry was changed: %s", text)
	}
}

func TestWhereSecretsAreReadIsShownAndTheSecretsAreNot(t *testing.T) {
	a := managed
	a.ClientSecretFrom, a.ClientSecret = config.SecretSource{}, "hunter2"
	a.IDP.ClientSecretFrom, a.IDP.ClientSecret = config.SecretSource{}, "hunter3"
	a.Assertion.Command = []string{"get-token", "--password", "hunter4", "--for", "me"}
	shown := config.Server{Name: "a", URL: "https://h", Auth: a}.Masked().Auth
	want := []string{"get-token", "--password", "***", "--for", "me"}
	if shown.ClientSecret != "***" || shown.IDP.ClientSecret != "***" || !slices.Equal(shown.Assertion.Command, want) {
		t.Errorf("shown is %+v", shown)
	}
	if a.Assertion.Command[2] != "hunter4" {
		t.Error("the entry was changed")
	}
	secrets := config.Server{Name: "a", URL: "https://h", Auth: a}.Secrets()
	if !slices.Equal(secrets, []string{"hunter2", "hunter3", "hunter4"}) {
		t.Errorf("the secrets are %q", secrets)
	}
}

func TestEverySayingAboutTheLoginOfAMachineChangesTheFingerprint(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		`{}`, managedText,
		strings.Replace(managedText, `"dpop": true`, `"dpop": false`, 1),
		strings.Replace(managedText, `"me"]`, `"you"]`, 1),
		strings.Replace(managedText, `{"keychain": "build"}`, `{"env": "build"}`, 1),
		strings.Replace(managedText, `IDP_SECRET`, `OTHER`, 1),
		strings.Replace(managedText, `https://idp.`, `https://idp2.`, 1),
		strings.Replace(managedText, `"us"`, `"them"`, 1),
	} {
		f, problems := block(t, text)
		if problems != nil {
			t.Fatal(problems)
		}
		sum := f.Servers[0].Fingerprint()
		if other, twice := seen[sum]; twice {
			t.Errorf("%s has the fingerprint of %s", text, other)
		}
		seen[sum] = text
	}
}
