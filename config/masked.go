package config

import (
	"maps"
	"slices"
	"strings"

	"mcpwire/internal/redact"
)

// harmless are headers whose values are no secrets, in lower case.
var harmless = []string{
	"accept", "accept-encoding", "accept-language", "cache-control", "content-type", "mcp-protocol-version", "origin",
	"user-agent",
}

// Masked returns a copy of the entry for showing: literal values that look secret are "***" in it. These are the
// headers, but for a few that are harmless, what Env has under names of secrets, the userinfo and secret parameters
// of addresses, and in other texts whatever has the shape of a token. References to variables stay, without secret
// defaults. It is for entries that are not expanded.
func (s Server) Masked() Server {
	s.Command = tokens(s.Command)
	s.Args = maskedArgs(s.Args)
	s.Env = maps.Clone(s.Env)
	for name, value := range s.Env {
		s.Env[name] = maskedIf(redact.SecretName(name), value)
	}
	s.Headers = maps.Clone(s.Headers)
	for name, value := range s.Headers {
		s.Headers[name] = maskedIf(!slices.Contains(harmless, strings.ToLower(name)), value)
	}
	s.URL, s.Proxy = maskedURL(s.URL), maskedURL(s.Proxy)
	return s
}

func maskedIf(secret bool, value string) string {
	if secret {
		return secretText(value)
	}
	return tokens(value)
}

// maskedArgs masks what stands behind a flag that is named like a secret, and headers given to a flag.
func maskedArgs(args []string) []string {
	args = slices.Clone(args)
	secret := false // what comes next is one
	for i, arg := range args {
		flag := strings.HasPrefix(arg, "-")
		name, value, isHeader := strings.Cut(arg, ":")
		switch {
		case secret && !flag:
			args[i] = secretText(arg)
		case isHeader && !flag && !strings.ContainsAny(name, "/ $") && redact.SecretName(name):
			rest := strings.TrimLeft(value, " ")
			args[i] = arg[:len(arg)-len(rest)] + secretText(rest)
		default:
			args[i] = maskedFlag(arg)
		}
		secret = flag && !strings.Contains(arg, "=") && redact.SecretName(strings.TrimLeft(arg, "-"))
	}
	return args
}

// maskedFlag masks the value of "--api-key=value", and what looks like a token or an address anywhere.
func maskedFlag(arg string) string {
	name, value, ok := strings.Cut(arg, "=")
	switch {
	case ok && !strings.ContainsAny(name, " $:/?&") && redact.SecretName(strings.TrimLeft(name, "-")):
		return name + "=" + secretText(value)
	case strings.Contains(arg, "://") && !strings.ContainsAny(arg, " \t\n"):
		at := 0
		if ok && !strings.Contains(name, "://") {
			at = len(name) + 1
		}
		return arg[:at] + maskedURL(arg[at:])
	}
	return tokens(arg)
}

// mapped applies literal to the literal parts of a value, and keeps its references. The defaults of references are
// taken for literal text. A value whose references can't be read is hidden.
func mapped(value string, literal func(string) string) string {
	pieces, err := split(value)
	if err != nil {
		return redact.Mask
	}
	var out strings.Builder
	for _, p := range pieces {
		switch {
		case p.variable == "":
			out.WriteString(literal(p.raw))
		case p.fallback == "":
			out.WriteString(p.raw)
		default:
			out.WriteString(strings.TrimSuffix(p.raw, p.fallback+"}"))
			out.WriteString(literal(p.fallback) + "}")
		}
	}
	return out.String()
}

// tokens masks what has the shape of a token.
func tokens(value string) string { return mapped(value, redact.Tokens) }

// secretText masks all literal text but the name of a scheme, as in "Bearer ${TOKEN}".
func secretText(value string) string {
	first, rest, ok := strings.Cut(value, " ")
	if ok && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(first)) {
		return first + " " + secretText(rest)
	}
	return mapped(value, func(text string) string {
		if strings.TrimSpace(text) == "" {
			return text
		}
		return redact.Mask
	})
}

// maskedURL masks userinfo and secret parameters. An address with references can't be parsed, so it is cut as text.
func maskedURL(raw string) string {
	if raw == "" {
		return ""
	}
	if !strings.Contains(raw, "$") {
		return redact.URL(raw)
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		scheme, rest = "", raw
	} else {
		scheme += "://"
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	end := strings.IndexByte(rest, '/')
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		rest = maskedUser(rest[:at]) + rest[at:]
	}
	text := tokens(scheme) + tokens(rest)
	if hasQuery {
		text += "?" + maskedQuery(query)
	}
	return text
}

// maskedUser masks "user:password", each for itself.
func maskedUser(info string) string {
	return mapped(info, func(text string) string {
		parts := strings.Split(text, ":")
		for i, part := range parts {
			if part != "" {
				parts[i] = redact.Mask
			}
		}
		return strings.Join(parts, ":")
	})
}

func maskedQuery(query string) string {
	params := strings.Split(query, "&")
	for i, param := range params {
		name, value, ok := strings.Cut(param, "=")
		if ok && redact.SecretName(name) {
			params[i] = name + "=" + secretText(value)
			continue
		}
		params[i] = tokens(param)
	}
	return strings.Join(params, "&")
}
