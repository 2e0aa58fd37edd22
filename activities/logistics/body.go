package logistics

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// arrival is what a body says.
type arrival struct{ shipment, depot string }

var errNoBody = errors.New("the event's body is past its retention")

// readArrival reads shipment_id and depot_id, exactly: numbers as their digits,
// and nothing that PostgreSQL would have to alter. Other members, duplicate
// names among them, do not matter.
func readArrival(body []byte) (arrival, error) {
	if body == nil {
		return arrival{}, errNoBody
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return arrival{}, errors.New("the event's body is not a JSON object")
	}
	shipment, err := identifier(members, "shipment_id")
	if err != nil {
		return arrival{}, err
	}
	depot, err := identifier(members, "depot_id")
	if err != nil {
		return arrival{}, err
	}
	return arrival{shipment: shipment, depot: depot}, nil
}

func identifier(members map[string]jsontext.Value, name string) (string, error) {
	value := members[name]
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		switch {
		case err != nil:
			return "", fmt.Errorf("%s is not valid Unicode", name)
		case len(text) == 0:
			return "", fmt.Errorf("%s is empty", name)
		case strings.ContainsRune(string(text), 0):
			return "", fmt.Errorf("%s holds a NUL character", name)
		}
		return string(text), nil
	case '0':
		return string(value), nil
	default:
		return "", fmt.Errorf("%s is not a string", name)
	}
}
