package strictjson

import "bytes"

// Writer builds a JSON object from members that are already JSON.
type Writer struct{ b bytes.Buffer }

// Raw adds a member; a nil value adds nothing.
func (w *Writer) Raw(name string, value []byte) {
	if value == nil {
		return
	}
	separator := byte(',')
	if w.b.Len() == 0 {
		separator = '{'
	}
	w.b.WriteByte(separator)
	w.b.Write(Quote(name))
	w.b.WriteByte(':')
	w.b.Write(value)
}

// Text adds a string member; "" adds nothing.
func (w *Writer) Text(name, value string) {
	if value != "" {
		w.Raw(name, Quote(value))
	}
}

// Bytes ends the object and returns it.
func (w *Writer) Bytes() []byte {
	if w.b.Len() == 0 {
		return []byte("{}")
	}
	w.b.WriteByte('}')
	return w.b.Bytes()
}
