package survival

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
)

// plantedKey is the secret that withKey gives to the server in keyVariable.
const (
	plantedKey  = "planted-5d2e"
	keyVariable = "DEMO_KEY"
)

func withKey(s *config.Server, _ *mcpwire.Options) { s.Env[keyVariable] = plantedKey }

// pipeSecretRows are about servers that give away in messages what only they and the client are to know.
func pipeSecretRows() (rows []Row) {
	for _, f := range []struct{ name, does, method, text string }{
		{
			"refusal", "a refusal", "tools/call",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"the key $key is not valid"}}`,
		},
		{
			"data", "the data of a refusal, with escapes", "tools/call",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"no","data":{"said":["\u0070lanted-5d2e"]}}}`,
		},
		{"odd", "an error that is no object", "tools/call", `{"jsonrpc":"2.0","id":$id,"error":["$key"]}`},
		{
			"handshake", "the refusal of the handshake", "initialize",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"the key $key is not valid"}}`,
		},
		{
			"nobody", "an error for no request", "tools/call",
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"the key $key is not valid"}}` + "\n" + "$answer",
		},
	} {
		rows = append(rows, Row{
			Name: "pipe/secret/" + f.name, Does: "writes a secret of its configuration into " + f.does,
			Must: "mask the secret", With: withKey,
			Pipe: func(p *Pipe) { once(f.method, strings.ReplaceAll(f.text, "$key", os.Getenv(keyVariable)))(p) },
			Try: func(t *Trial) {
				heard := make(chan error, 10)
				t.Options.OnError = func(err error) { heard <- err }
				c, err := t.Dial()
				if err == nil {
					_, err = t.Call(c)
				}
				if err == nil { // the host is told by the by
					select {
					case err = <-heard:
					case <-t.Context.Done():
					}
				}
				shown := fmt.Sprint(err)
				if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
					shown += string(refusal.Data)
				}
				if !strings.Contains(shown, "***") || strings.Contains(shown, plantedKey) {
					t.Fail("it is told: %s", shown)
				}
			},
		})
	}
	return rows
}
