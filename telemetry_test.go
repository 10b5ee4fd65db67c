package mcpwire_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/telemetry"
)

// addresses is a Telemetry that keeps what it is asked for, and lets the real one do the rest.
type addresses struct {
	*telemetry.Telemetry
	asked chan [2]string
}

func (a addresses) Server(name, address string) client.Tracer {
	a.asked <- [2]string{name, address}
	return a.Telemetry.Server(name, address)
}

func TestTelemetryIsToldOfEveryServerWithoutItsSecrets(t *testing.T) {
	web := httptest.NewServer(&counter{})
	defer web.Close()
	t.Setenv("WEB_TOKEN", "tok3n-of-mine")
	t.Setenv("WEB_ADDRESS", web.URL)
	entry := config.Server{
		Name: "web", URL: "${WEB_ADDRESS}/${WEB_TOKEN}/mcp", Origin: "mcp.json", Protocol: client.ProtocolSession,
	}
	a := addresses{telemetry.New(telemetry.Options{}), make(chan [2]string, 2)}
	want := [2]string{"web", web.URL + "/***/mcp"}
	c, err := mcpwire.Connect(t.Context(), entry, mcpwire.Options{CacheDir: "none", StateDir: "none", Telemetry: a})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if got := <-a.asked; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	o := mcpwire.ManageOptions{StateDir: "none", Telemetry: a}
	o.CacheDir = "none"
	m := mcpwire.Manage([]config.Server{entry}, o)
	if got := <-a.asked; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
