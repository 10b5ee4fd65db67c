package config

import (
	"slices"
	"strings"

	"mcpwire/internal/redact"
)

// Masked returns a copy of the entry for showing: literal values that look secret are "***" in it. These are the
// headers, but for a few that are harmless, what Env has under names of secrets, arguments behind flags and names of
// secrets, the userinfo and secret parameters of addresses, and in other texts whatever has the shape of a token.
// References to variables stay, without secret defaults. It is for entries that are not expanded.
func (s Server) Masked() Server {
	return s.judged(func(_ string, parts []part) string {
		refers := slices.ContainsFunc(parts, func(p part) bool { return strings.Contains(p.text, "$") })
		var shown strings.Builder
		for _, p := range parts {
			shown.WriteString(p.masked(refers))
		}
		return shown.String()
	})
}

// Secrets returns the values that Masked hides, headers' among them. It is for entries without references: those that
// are expanded, and those that come from no file.
func (s Server) Secrets() (secrets []string) {
	s.judged(func(_ string, parts []part) string {
		for _, p := range parts {
			_, text := credential(p.text)
			switch {
			case p.sort == login:
				secrets = append(secrets, passwords(p.text)...)
			case p.sort == secret, redact.Tokens(text) == redact.Mask:
				secrets = append(secrets, text)
			}
		}
		return ""
	})
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	slices.Sort(secrets)
	return slices.Compact(secrets)
}

// masked shows a part of a value; refers says that there are references in the value.
func (p part) masked(refers bool) string {
	switch p.sort {
	case secret:
		scheme, rest := credential(p.text)
		return scheme + mapped(rest, maskText)
	case login:
		if refers {
			return mapped(p.text, maskUser)
		}
		return redact.Mask
	default:
		return mapped(p.text, redact.Tokens)
	}
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

// maskText masks all but white space.
func maskText(text string) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	return redact.Mask
}

// maskUser masks "user:password", each for itself.
func maskUser(text string) string {
	parts := strings.Split(text, ":")
	for i, part := range parts {
		if part != "" {
			parts[i] = redact.Mask
		}
	}
	return strings.Join(parts, ":")
}
