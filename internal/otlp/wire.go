package otlp

import (
	"encoding/binary"
	"math"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// A message is one of protocol buffers, as it is written. Fields that are zero are left out, as proto3 has it.
type message []byte

// Kinds of fields on the wire.
const (
	kindVarint  = 0
	kindFixed64 = 1
	kindBytes   = 2
	kindFixed32 = 5
)

func (m *message) tag(field, kind int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(kind)) //nolint:gosec // both are small constants
}

func (m *message) varint(field int, v uint64) {
	if v != 0 {
		m.always(field, v)
	}
}

// always writes a field that is there also if it is zero: one of several, of which one is set.
func (m *message) always(field int, v uint64) {
	m.tag(field, kindVarint)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) fixed64(field int, v uint64) {
	if v != 0 {
		m.tag(field, kindFixed64)
		*m = binary.LittleEndian.AppendUint64(*m, v)
	}
}

// double writes a number that is there also if it is zero.
func (m *message) double(field int, v float64) {
	m.tag(field, kindFixed64)
	*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v))
}

func (m *message) fixed32(field int, v uint32) {
	if v != 0 {
		m.tag(field, kindFixed32)
		*m = binary.LittleEndian.AppendUint32(*m, v)
	}
}

func (m *message) bytes(field int, b []byte) {
	if len(b) > 0 {
		m.message(field, b)
	}
}

// text writes a string, which must be UTF-8: a collector refuses all that comes with one that is not.
func (m *message) text(field int, s string) { m.bytes(field, []byte(strings.ToValidUTF8(s, "\uFFFD"))) }

// message writes a part that is there also if it is empty.
func (m *message) message(field int, part []byte) {
	m.tag(field, kindBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(part))), part...)
}

func (m *message) attributes(field int, all []attribute.KeyValue) {
	for _, kv := range all {
		var part message
		part.text(1, string(kv.Key))
		part.message(2, value(kv.Value))
		m.message(field, part)
	}
}

// value is the AnyValue of an attribute. Of a kind that is not known the text is written.
func value(v attribute.Value) []byte {
	var m message
	switch v.Type() {
	case attribute.BOOL:
		b := uint64(0)
		if v.AsBool() {
			b = 1
		}
		m.always(2, b)
	case attribute.INT64:
		m.always(3, uint64(v.AsInt64())) //nolint:gosec // that is how an int64 is written
	case attribute.FLOAT64:
		m.double(4, v.AsFloat64())
	case attribute.STRINGSLICE:
		var list message
		for _, s := range v.AsStringSlice() {
			list.message(1, value(attribute.StringValue(s)))
		}
		m.message(5, list)
	default:
		m.message(1, []byte(strings.ToValidUTF8(v.String(), "\uFFFD")))
	}
	return m
}

// origin writes what is alike at the top of spans and of metrics: the resource, and a group for each scope.
func (m *message) origin(r *resource.Resource, groups [][]byte) {
	var part, own message
	if r != nil {
		own.attributes(1, r.Attributes())
		part.message(1, own)
		part.text(3, r.SchemaURL())
	}
	for _, group := range groups {
		part.message(2, group)
	}
	m.message(1, part)
}

// group begins what one scope has to tell.
func group(s instrumentation.Scope) message {
	var m, part message
	part.text(1, s.Name)
	part.text(2, s.Version)
	part.attributes(3, s.Attributes.ToSlice())
	m.message(1, part)
	m.text(3, s.SchemaURL)
	return m
}
