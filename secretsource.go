package mcpwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"mcpwire/auth"
	"mcpwire/config"
	"mcpwire/internal/proc"
	"mcpwire/internal/redact"
	"mcpwire/transport"
)

// Bounds of a secret that is read from somewhere.
const (
	mostSecret      = 64 << 10 // bytes
	mostTold        = 4 << 10  // bytes of what its program says on standard error, from the beginning
	secretPatience  = 20 * time.Second
	secretRest      = time.Second // for what is in the pipes when its program has ended
	secretShown     = 300         // bytes of that in an error
	secretStdinWait = -1          // its input is empty
)

// reading returns what reads a secret; nil if there is no source. mask are secrets that an error must not show.
func reading(s config.SecretSource, mask []string) auth.Secret {
	if s.IsZero() {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		text, err := readSecret(ctx, s)
		if err != nil {
			return "", fmt.Errorf("%s: %w", masked(s.String(), mask), maskedError(err, mask))
		}
		if text = strings.TrimSpace(text); text == "" {
			return "", fmt.Errorf("%s gives nothing", masked(s.String(), mask))
		}
		return text, nil
	}
}

func identityProvider(p config.IDP, mask []string) auth.IDP {
	idp := auth.IDP{Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: reading(p.ClientSecretFrom, mask)}
	if p.ClientSecret != "" {
		idp.ClientSecret = func(context.Context) (string, error) { return p.ClientSecret, nil }
	}
	return idp
}

func masked(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, redact.Mask)
		}
	}
	return redact.Tokens(text)
}

func maskedError(err error, secrets []string) error {
	if text := err.Error(); masked(text, secrets) != text {
		return errors.New(masked(text, secrets))
	}
	return err
}

func readSecret(ctx context.Context, s config.SecretSource) (string, error) {
	switch {
	case s.File != "":
		return secretFile(s.File)
	case s.Env != "":
		value, set := os.LookupEnv(s.Env)
		if !set {
			return "", errors.New("it is not set")
		}
		return value, nil
	case s.Keychain != "":
		if os.Getenv("MCPWIRE_KEYCHAIN") == "off" {
			return "", errors.New("the keychain is switched off by MCPWIRE_KEYCHAIN")
		}
		return auth.KeychainSecret(ctx, s.Keychain)
	}
	return secretOf(ctx, s.Command)
}

// secretFile reads a file, which is no pipe: that could make us wait.
func secretFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", plainCause(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", plainCause(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostSecret+1))
	if len(text) > mostSecret {
		return "", fmt.Errorf("it has more than %d bytes", mostSecret)
	}
	return string(text), err
}

// plainCause leaves out the path, which has been told.
func plainCause(err error) error {
	if fault, ok := errors.AsType[*os.PathError](err); ok {
		return fault.Err
	}
	return err
}

// secretOf runs a program and returns what it prints. Nothing of the program is left then.
func secretOf(ctx context.Context, command []string) (string, error) {
	limit := &transport.TimeoutError{What: "command", After: secretPatience}
	ctx, cancel := context.WithTimeoutCause(ctx, secretPatience, limit)
	defer cancel()
	p, err := proc.Start(proc.Spec{Command: command[0], Args: command[1:], StdinWait: secretStdinWait})
	if err != nil {
		return "", err
	}
	_ = p.Stdin.Close() // it asks nobody
	var out, told bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { readUpTo(&out, p.Stdout, mostSecret+1) })
	reading.Go(func() { readUpTo(&told, p.Stderr, mostTold) })
	select {
	case <-p.Exited():
	case <-ctx.Done():
	}
	hurry, now := context.WithCancel(context.WithoutCancel(ctx))
	now()
	err = p.Shutdown(hurry)
	// Somebody who has left its group may keep the pipes open.
	closing := time.AfterFunc(secretRest, func() { closeAll(p.Stdout, p.Stderr) })
	reading.Wait()
	closing.Stop()
	closeAll(p.Stdout, p.Stderr)
	state := p.State()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case state.Signal != "":
		return "", fmt.Errorf("it was ended by %s%s", state.Signal, says(told.Bytes()))
	case state.Code != 0:
		return "", fmt.Errorf("it failed with exit status %d%s", state.Code, says(told.Bytes()))
	case out.Len() > mostSecret:
		return "", fmt.Errorf("it prints more than %d bytes", mostSecret)
	}
	return out.String(), nil
}

func closeAll(files ...*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

// readUpTo keeps the beginning of what is read, and reads the rest, so that nobody waits.
func readUpTo(to *bytes.Buffer, from io.Reader, most int64) {
	_, _ = io.Copy(to, io.LimitReader(from, most))
	_, _ = io.Copy(io.Discard, from)
}

func says(text []byte) string {
	if shown := redact.Excerpt(text, secretShown); shown != "" {
		return ": " + shown
	}
	return ""
}
