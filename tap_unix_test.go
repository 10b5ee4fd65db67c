//go:build unix

package mcpwire_test

import (
	"path/filepath"
	"testing"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/trace"
)

const (
	sessionAnswer = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"serverInfo":{"name":"s","version":"1"}}}`
	politeServer = `echo a banner; echo '{"half": '; read -r line; echo '` + sessionAnswer + `'
		while read -r line; do :; done; exit 6`
)

func TestATraceTellsHowAServerBeginsAndEnds(t *testing.T) {
	r := &tracer{}
	c, err := mcpwire.Connect(t.Context(), config.Server{
		Name: "s", Command: "sh", Args: []string{"-c", politeServer}, Protocol: "2025-11-25",
	}, mcpwire.Options{Trace: r.sink, CacheDir: "none", StateDir: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	started := r.of(trace.Started)
	if len(started) != 1 || !filepath.IsAbs(started[0].Text) || filepath.Base(started[0].Text) != "sh" {
		t.Errorf("started: %+v", started)
	}
	noise := r.of(trace.Noise)
	if len(noise) != 2 || noise[0].Text != "a banner" || noise[1].Text != `{"half": ` {
		t.Errorf("noise: %+v", noise)
	}
	exited := r.of(trace.Exited)
	if len(exited) != 1 || *exited[0].Exit != (trace.ExitFacts{Code: 6, After: "eof"}) || exited[0].Took <= 0 {
		t.Errorf("exited: %+v", exited)
	}
}
