package mcp

import (
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ExtensionSkills identifies the skills extension among the Extensions of capabilities.
const ExtensionSkills = "io.modelcontextprotocol/skills"

// Methods of the skills extension. MethodReadDirectory is there only where SkillsCapability says so.
const (
	MethodListSkills    = "skills/list"
	MethodGetSkill      = "skills/get"
	MethodReadDirectory = "resources/directory/read"
)

// MIMEDirectory is the media type of a resource that is a directory (skills, directory resources).
const MIMEDirectory = "inode/directory"

// SkillsCapability is what a server says of its skills, under ExtensionSkills.
type SkillsCapability struct {
	DirectoryRead bool           `json:"directoryRead,omitzero"` // it answers MethodReadDirectory
	Extra         jsontext.Value `json:",embed"`                 // settings that are not known, as one object
}

func (*SkillsCapability) optionalMembers() {}

// A Skill describes a skill: instructions for an agent, with the files that belong to them (skills, skill entries).
// It says what a server promises; package skills compares that with what is read.
type Skill struct {
	URI         string          `json:"uri"`         // of its SKILL.md
	Frontmatter json.RawMessage `json:"frontmatter"` // that of SKILL.md as a JSON object; name and description at least
	Resources   SkillResources  `json:"resources"`
}

// SkillResources are all files of a skill, SKILL.md among them. The zero value is what no valid entry has.
type SkillResources struct {
	Dynamic bool // "dynamic": made when they are read, so that nothing is known of them before
	Files   []SkillResource
}

// A SkillResource is one file of a skill, and what it must be like.
type SkillResource struct {
	URI    string   `json:"uri"`
	Digest string   `json:"digest"` // of the raw bytes: "sha256:" and 64 hexadecimal digits in lower case
	Size   *float64 `json:"size"`   // how many raw bytes there are; nil in an entry that lacks it, which is not valid
}

// DirectoryParams ask for what is in a directory.
type DirectoryParams struct {
	URI    string          `json:"uri"`
	Cursor *string         `json:"cursor,omitzero"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// GetSkillParams ask for the entry of one skill.
type GetSkillParams struct {
	URI  string          `json:"uri"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// A GetSkillResult is the entry of one skill. See ListToolsResult for TTLMs and CacheScope.
type GetSkillResult struct {
	ResultType string          `json:"resultType,omitzero"`
	Skill      Skill           `json:"skill"`
	TTLMs      *float64        `json:"ttlMs,omitzero"`
	CacheScope string          `json:"cacheScope,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

const dynamic = "dynamic"

// UnmarshalJSONFrom reads an array of files, or "dynamic".
func (r *SkillResources) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return jsonv2.UnmarshalDecode(dec, &r.Files)
	}
	var text string
	if err := jsonv2.UnmarshalDecode(dec, &text); err != nil {
		return err
	}
	if text != dynamic {
		return fmt.Errorf("resources must be an array or %q, not %.40q", dynamic, text)
	}
	r.Dynamic = true
	return nil
}

// MarshalJSONTo writes an array of files, or "dynamic".
func (r SkillResources) MarshalJSONTo(enc *jsontext.Encoder) error {
	if r.Dynamic {
		return enc.WriteToken(jsontext.String(dynamic))
	}
	return jsonv2.MarshalEncode(enc, r.Files)
}
