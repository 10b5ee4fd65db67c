package demo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is where ServeHTTP answers.
const Path = "/mcp"

// ServeHTTP answers over Streamable HTTP on a free port of the loopback address until ctx is done. ready is called with
// the URL before the first answer. All clients have the same server: what one changes the others are told of.
func ServeHTTP(ctx context.Context, ready func(url string) error) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux, one := http.NewServeMux(), newServer()
	mux.Handle(Path, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return one }, nil))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := ready("http://" + listener.Addr().String() + Path); err != nil {
		_ = listener.Close()
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
