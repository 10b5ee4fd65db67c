package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"mcpwire/internal/demo"
)

// command is the program with a folder of its own for all that it keeps, in which it runs.
func command(t *testing.T, args ...string) (cmd *exec.Cmd, folder string) {
	t.Helper()
	folder = t.TempDir()
	cmd = exec.Command(os.Args[0], args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), runVariable+"=1", raceOptions, "PROGRAM="+os.Args[0], "HOME="+folder)
	for _, name := range userFolders {
		cmd.Env = append(cmd.Env, name+"="+folder)
	}
	return cmd, folder
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serveDemo serves the demo server over HTTP and returns its URL.
func serveDemo(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	urls, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- demo.ServeHTTP(ctx, func(url string) error {
			urls <- url
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case url := <-urls:
		return url
	case err := <-ended:
		t.Fatal(err)
		return ""
	}
}

func TestEverySpellingOfATypeIsReadAndBadEntriesAreNamed(t *testing.T) {
	cmd, folder := command(t, "servers", "--output", "json", "--config", "eight.json")
	write(t, filepath.Join(folder, "eight.json"), strings.ReplaceAll(`{"mcpServers": {
		"a": {"type": "http", "url": "URL"},
		"b": {"type": "streamable-http", "url": "URL"},
		"c": {"transport": "streamableHttp", "url": "URL"},
		"d": {"type": "streamable_http", "url": "URL"},
		"e": {"type": "sse", "url": "http://localhost:1/sse"},
		"f": {"url": "URL"},
		"both": {"command": "x", "url": "URL"},
		"neither": {}
	}}`, "URL", serveDemo(t)))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code tells
	if code := cmd.ProcessState.ExitCode(); code != 5 {
		t.Errorf("exit code %d, want 5\n%s", code, stderr.String())
	}
	var list struct {
		Servers []struct{ Name, Transport, State, Error string }
	}
	if err := jsonv2.Unmarshal(stdout.Bytes(), &list, jsonv2.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%v: %s", err, stdout.String())
	}
	var got []string
	for _, s := range list.Servers {
		got = append(got, s.Name+" "+s.Transport+" "+s.State)
	}
	want := "a http ready, b http ready, c http ready, d http ready, e sse failed, f http ready, " +
		"both  failed, neither  failed"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(list.Servers); n > 0 && !strings.Contains(list.Servers[n-1].Error, `server "neither": it has neither`) {
		t.Errorf("the error of the last is %q", list.Servers[n-1].Error)
	}
	for _, text := range []string{
		`mcpwire: error: eight.json:8:3: server "both": it has both a command and a url`,
		`mcpwire: error: eight.json:9:3: server "neither": it has neither a command nor a url`,
		`mcpwire: 3 of 8 servers have failed`,
	} {
		if !strings.Contains(stderr.String(), text) {
			t.Errorf("no %q in\n%s", text, stderr.String())
		}
	}
}

func TestEachToolIsListedByteForByteAsItsServerSentIt(t *testing.T) {
	entries := `{"mcpServers": {"a": {"command": "` + os.Args[0] + `", "args": ["demo-server"]}}}`
	list := func(args ...string) map[string]json.RawMessage {
		cmd, folder := command(t, append([]string{"tools", "--output", "json", "--config", "one.json"}, args...)...)
		write(t, filepath.Join(folder, "one.json"), entries)
		out, err := cmd.Output()
		if err != nil {
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				t.Log(string(exit.Stderr))
			}
			t.Fatal(err)
		}
		var all struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := jsonv2.Unmarshal(out, &all); err != nil {
			t.Fatal(err)
		}
		byName := map[string]json.RawMessage{}
		for _, tool := range all.Tools {
			byName[strings.Trim(read(tool)["name"], `"`)] = tool
		}
		return byName
	}
	alone, among := list("a"), list()
	if len(alone) == 0 || len(among) != len(alone) {
		t.Fatalf("got %d tools, and %d of all servers", len(alone), len(among))
	}
	for name, tool := range alone {
		if want := `{"server":"a","safeName":"a__` + name + `",` + string(tool[1:]); string(among[name]) != want {
			t.Errorf("got %s, want %s", among[name], want)
		}
	}
}
