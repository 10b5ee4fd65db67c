package mcpwire_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcpwire"
	"mcpwire/auth"
	"mcpwire/config"
	"mcpwire/transport/transporttest"
)

// secretProgram is the first argument with which the test binary is a program that gives a secret.
const secretProgram = "give-a-secret"

// giveSecret is that program; the word says how it goes.
func giveSecret(word string) {
	switch word {
	case "fails":
		fmt.Fprintln(os.Stderr, "not signed in: run\x07 login, token=hunter2")
		os.Exit(3)
	case "floods":
		for range 100 {
			fmt.Println(strings.Repeat("a", 1000))
		}
	case "says nothing":
	default:
		fmt.Println(word)
	}
}

// tokens is a server that wants a token, and its authorization server, which takes any secret and notes it.
func tokens(t *testing.T) (url string, got *string) {
	t.Helper()
	got = new(string)
	var server *httptest.Server
	answer := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(strings.ReplaceAll(text, "$", server.URL)))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, `{"resource": "$/mcp", "authorization_servers": ["$"]}`)
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, `{"issuer": "$", "token_endpoint": "$/token", "token_endpoint_auth_methods_supported": ["client_secret_post"]}`)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		*got = r.FormValue("client_secret")
		answer(w, `{"access_token": "a-token", "token_type": "Bearer", "expires_in": 60}`)
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/mcp", got
}

func TestASecretIsReadWhereTheEntrySays(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("A_SECRET", "from-env")
	t.Setenv("MCPWIRE_KEYCHAIN", "off")
	program := func(word string) config.SecretSource {
		return config.SecretSource{Command: []string{exe, secretProgram, word}}
	}
	for name, tt := range map[string]struct {
		from config.SecretSource
		want string
		why  string // "": it is read
	}{
		"a file":                    {from: config.SecretSource{File: write("secret", "  from-file\n")}, want: "from-file"},
		"a variable":                {from: config.SecretSource{Env: "A_SECRET"}, want: "from-env"},
		"a program":                 {from: program("from-program"), want: "from-program"},
		"a file that is missing":    {from: config.SecretSource{File: filepath.Join(folder, "none")}, why: "none: "},
		"a folder":                  {from: config.SecretSource{File: folder}, why: "it is no regular file"},
		"an empty file":             {from: config.SecretSource{File: write("empty", " \n")}, why: "gives nothing"},
		"a big file":                {from: config.SecretSource{File: write("big", strings.Repeat("a", 70<<10))}, why: "more than 65536 bytes"},
		"a variable that is not":    {from: config.SecretSource{Env: "NOT_SET_ANYWHERE"}, why: "the variable NOT_SET_ANYWHERE: it is not set"},
		"a keychain that is off":    {from: config.SecretSource{Keychain: "build"}, why: `"build" in the keychain: the keychain is switched off`},
		"a program that fails":      {from: program("fails"), why: "it failed with exit status 3: not signed in: run login, token=***"},
		"a program that says much":  {from: program("floods"), why: "it prints more than 65536 bytes"},
		"a program without a word":  {from: program("says nothing"), why: "gives nothing"},
		"a program that is missing": {from: config.SecretSource{Command: []string{filepath.Join(folder, "none")}}, why: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			url, got := tokens(t)
			entry := config.Server{Name: "web", URL: url, Auth: config.Auth{
				Grant: config.ClientCredentials, ClientID: "build", ClientSecretFrom: tt.from,
			}}
			status, err := mcpwire.Login(t.Context(), entry, mcpwire.Options{StateDir: "none"})
			switch {
			case tt.why == "" && (err != nil || *got != tt.want || status.Grant != auth.ClientCredentials):
				t.Errorf("sent was %q, %+v, %v", *got, status, err)
			case tt.why != "" && (err == nil || *got != "" || !strings.Contains(err.Error(), "clientSecret: ") ||
				!strings.Contains(err.Error(), tt.why) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("sent was %q, %v", *got, err)
			}
		})
	}
}

// An entry with a secret in a pipe would wait for whoever writes into it.
func TestASecretIsNotReadFromAPipe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are none among the files")
	}
	url, _ := tokens(t)
	entry := config.Server{Name: "web", URL: url, Auth: config.Auth{
		Grant: config.ClientCredentials, ClientID: "build", ClientSecretFrom: config.SecretSource{File: os.DevNull},
	}}
	_, err := mcpwire.Login(t.Context(), entry, mcpwire.Options{StateDir: "none"})
	if err == nil || !strings.Contains(err.Error(), "it is no regular file") {
		t.Errorf("got %v", err)
	}
}

// Nobody who only looks has programs run, or files read.
func TestLookingAtTheStatusReadsNoSecret(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	url, got := tokens(t)
	entry := config.Server{Name: "web", URL: url, Auth: config.Auth{
		Grant: config.JWTBearer, Assertion: config.SecretSource{Command: []string{exe, secretProgram, "fails"}},
	}}
	status, err := mcpwire.LoginStatus(t.Context(), entry, mcpwire.Options{StateDir: "none"})
	if err != nil || status.LoggedIn || status.Grant != auth.JWTBearer || *got != "" {
		t.Errorf("got %+v, %v", status, err)
	}
}
