package release

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A bill is a bill of materials in the form of CycloneDX 1.6, as far as it is needed.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp time.Time `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Purl       string     `json:"purl"`
	Hashes     []digest   `json:"hashes,omitzero"`
	Properties []property `json:"properties,omitzero"`
}

type digest struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// sbom returns a program's bill of materials: the modules that it says it was built of, and the standard library.
func (r Release) sbom(p Program) ([]byte, error) {
	sum := sha256.Sum256(p.Data)
	program := module("mcpwire", "v"+r.Version)
	program.Type, program.Hashes = "application", []digest{{"SHA-256", hex.EncodeToString(sum[:])}}
	program.add("vcs.revision", r.Revision)
	std := module("std", strings.TrimPrefix(p.Info.GoVersion, "go"))
	b := bill{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{r.Time.UTC(), program}, Components: []component{std},
	}
	for _, m := range p.Info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module(m.Path, m.Version)
		c.add("go.sum", m.Sum)
		b.Components = append(b.Components, c)
	}
	return jsonv2.Marshal(b, jsontext.WithIndent("  "))
}

func module(path, version string) component {
	purl := "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: "library", Ref: purl, Name: path, Version: version, Purl: purl}
}

// add adds a property, unless it is not known.
func (c *component) add(name, value string) {
	if value != "" {
		c.Properties = append(c.Properties, property{"mcpwire:" + name, value})
	}
}
