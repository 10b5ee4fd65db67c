package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// render writes an entry: what is set, in a fixed order.
func render(s Server, at style) string {
	inner := at.deeper()
	var members []string
	put := func(name, value string) {
		if value != "" {
			members = append(members, quote(name)+": "+value)
		}
	}
	put("type", jsonText(s.Type))
	put("command", jsonText(s.Command))
	put("args", jsonList(s.Args))
	put("env", jsonObject(s.Env, inner))
	switch {
	case len(s.EnvInherit.Pass) > 0:
		put("envInherit", jsonList(s.EnvInherit.Pass))
	case s.EnvInherit.Minimal:
		put("envInherit", jsonText("minimal"))
	}
	put("cwd", jsonText(s.Cwd))
	put("url", jsonText(s.URL))
	put("headers", jsonObject(s.Headers, inner))
	put("tls", jsonObject(notEmpty(map[string]string{"ca": s.TLS.CA, "cert": s.TLS.Cert, "key": s.TLS.Key}), inner))
	put("proxy", jsonText(s.Proxy))
	put("auth", s.Auth.render(inner))
	put("protocol", jsonText(s.Protocol))
	put("timeout", jsonWait(s.Timeout))
	put("connectTimeout", jsonWait(s.ConnectTimeout))
	put("startupWait", jsonWait(s.StartupWait))
	put("required", jsonFlag(s.Required))
	put("disabled", jsonFlag(s.Disabled))
	var filter []string
	if len(s.Tools.Allow) > 0 {
		filter = append(filter, `"allow": `+jsonList(s.Tools.Allow))
	}
	if len(s.Tools.Deny) > 0 {
		filter = append(filter, `"deny": `+jsonList(s.Tools.Deny))
	}
	if filter != nil {
		put("tools", "{"+strings.Join(filter, ", ")+"}")
	}
	return block(members, at)
}

// render writes the block; empty if nothing is said.
func (a Auth) render(at style) string {
	if a.Off {
		return quote(authNone)
	}
	var members []string
	put := func(name, value string) {
		if value != "" {
			members = append(members, quote(name)+": "+value)
		}
	}
	inner := at.deeper()
	put("grant", jsonText(a.Grant))
	put("clientId", jsonText(a.ClientID))
	put("clientSecret", jsonSecret(a.ClientSecret, a.ClientSecretFrom, inner))
	put("issuer", jsonText(a.Issuer))
	put("scopes", jsonList(a.Scopes))
	if a.CallbackPort != 0 {
		put("callbackPort", strconv.Itoa(a.CallbackPort))
	}
	put("clientMetadataUrl", jsonText(a.ClientMetadataURL))
	put("tokenAuthMethod", jsonText(a.TokenAuthMethod))
	put("privateKey", jsonText(a.PrivateKey))
	put("signingAlgorithm", jsonText(a.SigningAlgorithm))
	put("assertion", a.Assertion.render(inner))
	put("idp", a.IDP.render(inner))
	if a.DPoP != nil {
		put("dpop", strconv.FormatBool(*a.DPoP))
	}
	put("allowPrivateNetworks", jsonFlag(a.AllowPrivateNetworks))
	if members == nil {
		return ""
	}
	return block(members, at)
}

// block writes members of an object, each on a line of its own, or all on one.
func block(members []string, at style) string {
	if at.newline == "" {
		return "{" + strings.Join(members, ", ") + "}"
	}
	br := at.deeper().br()
	return "{" + br + strings.Join(members, ","+br) + at.br() + "}"
}

func jsonObject(values map[string]string, at style) string {
	if len(values) == 0 {
		return ""
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		members = append(members, quote(name)+": "+quote(values[name]))
	}
	return block(members, at)
}

func notEmpty(values map[string]string) map[string]string {
	maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
	return values
}

func jsonList(values []string) string {
	if len(values) == 0 {
		return ""
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func jsonText(value string) string {
	if value == "" {
		return ""
	}
	return quote(value)
}

func jsonFlag(set bool) string {
	if !set {
		return ""
	}
	return "true"
}

// wait writes a time limit, so that it is read as the same: whole milliseconds at least.
func jsonWait(d *time.Duration) string {
	switch {
	case d == nil:
		return ""
	case *d == 0:
		return strconv.Itoa(0)
	}
	return quote(written(*d))
}

// quote writes a string of JSON. Bytes that are no UTF-8 become U+FFFD, as JSON can't hold them.
func quote(value string) string {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(value, "\ufffd")) // which can't fail on valid text
	return string(quoted)
}
