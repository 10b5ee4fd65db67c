package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// An Endpoint is where one kind of data goes, and how.
type Endpoint struct {
	URL     string
	Headers map[string]string
	Timeout time.Duration
	Gzip    bool
	TLS     *tls.Config // nil: the usual
	Delta   bool        // metrics tell what is new, not what there was since the start
}

// defaultTimeout bounds the sending of one message.
const defaultTimeout = 10 * time.Second

// Endpoints returns where spans and metrics go by the variables of OpenTelemetry: nil where they go nowhere, as it is
// when no variable names an exporter or an endpoint. Only otlp over http/protobuf is known. The error names the
// variable that asks for something else or is malformed, and shows no values that could be secret.
func Endpoints(env func(string) string) (spans, metrics *Endpoint, err error) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil, nil
	}
	if spans, err = endpoint(env, "TRACES", "/v1/traces"); err != nil {
		return nil, nil, err
	}
	if metrics, err = endpoint(env, "METRICS", "/v1/metrics"); err != nil {
		return nil, nil, err
	}
	return spans, metrics, nil
}

// endpoint reads the variables for one kind of data, which are stronger than those for all.
func endpoint(env func(string) string, kind, path string) (*Endpoint, error) {
	get := func(name string) (value, variable string) {
		for _, variable = range []string{"OTEL_EXPORTER_OTLP_" + kind + "_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value = strings.TrimSpace(env(variable)); value != "" {
				return value, variable
			}
		}
		return "", variable
	}
	address, from := get("ENDPOINT")
	switch exporter := "OTEL_" + kind + "_EXPORTER"; strings.TrimSpace(env(exporter)) {
	case "none":
		return nil, nil
	case "":
		if address == "" {
			return nil, nil
		}
	case "otlp":
	default:
		return nil, fmt.Errorf("%s: otlp and none are known, not %q", exporter, env(exporter))
	}
	if protocol, from := get("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s: http/protobuf is spoken, not %q", from, protocol)
	}
	e := &Endpoint{Timeout: defaultTimeout}
	var err error
	if e.URL, err = target(address, path, strings.Contains(from, kind)); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	if text, from := get("HEADERS"); text != "" {
		if e.Headers, err = headers(text); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	if text, from := get("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 0 {
			return nil, fmt.Errorf("%s: milliseconds are wanted, not %q", from, text)
		}
		e.Timeout = time.Duration(ms) * time.Millisecond
	}
	switch text, from := get("COMPRESSION"); text {
	case "", "none":
	case "gzip":
		e.Gzip = true
	default:
		return nil, fmt.Errorf("%s: gzip and none are known, not %q", from, text)
	}
	preference := env("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE")
	e.Delta = strings.EqualFold(preference, "delta") || strings.EqualFold(preference, "lowmemory")
	e.TLS, err = certificates(get)
	return e, err
}

// target returns the URL of an endpoint: an address for all kinds of data is where their paths begin.
func target(address, path string, whole bool) (string, error) {
	if address == "" {
		address = "http://localhost:4318"
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("an address such as http://localhost:4318 is wanted")
	}
	if !whole {
		u = u.JoinPath(path)
	}
	return u.String(), nil
}

// headers reads "name=value,name=value", with percent signs as in addresses.
func headers(text string) (map[string]string, error) {
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("name=value pairs are wanted, with commas between them")
		}
		all[name] = value
	}
	return all, nil
}

// certificates reads the files that are named; nil where none is.
func certificates(get func(name string) (value, variable string)) (*tls.Config, error) {
	ca, caFrom := get("CERTIFICATE")
	cert, certFrom := get("CLIENT_CERTIFICATE")
	key, _ := get("CLIENT_KEY")
	if ca == "" && cert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", caFrom, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: there is no PEM certificate in %s", caFrom, ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", certFrom, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
