package admin

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/codec"
	"github.com/oncehook/oncehook/internal/store"
)

// CodecLinkLife is how long a codec link is good: a working day.
const CodecLinkLife = 12 * time.Hour

// forbidden is what the operator's role or scope does not allow.
type forbidden struct{ detail string }

func (e *forbidden) Error() string { return e.detail }

// DecodePayloads implements POST /api/v1/codec/decode.
func (s *server) DecodePayloads(ctx context.Context, request api.DecodePayloadsRequestObject) (api.DecodePayloadsResponseObject, error) {
	payloads, err := s.payloadsOf(ctx, request.Params.XNamespace, request.Body)
	if err != nil {
		return nil, err
	}
	decoded := int64(0)
	for i, payload := range payloads {
		if !codec.Encrypted(payload) {
			continue
		}
		// One that does not open is shown as it is; the others still help.
		if plain, err := s.Codec.Decode([]*commonpb.Payload{payload}); err == nil {
			payloads[i] = plain[0]
			decoded++
		}
	}
	// Evidence first: nobody gets what is not audited.
	if decoded > 0 {
		if err := s.Store.RecordCodecUse(ctx, operatorOf(ctx), store.OutcomeDecoded, decoded); err != nil {
			return nil, err
		}
	}
	return api.DecodePayloads200JSONResponse{PayloadsJSONResponse: viewPayloads(payloads)}, nil
}

// EncodePayloads implements POST /api/v1/codec/encode.
func (s *server) EncodePayloads(ctx context.Context, request api.EncodePayloadsRequestObject) (api.EncodePayloadsResponseObject, error) {
	payloads, err := s.payloadsOf(ctx, request.Params.XNamespace, request.Body)
	if err != nil {
		return nil, err
	}
	if payloads, err = s.Codec.Encode(payloads); err != nil {
		return nil, err
	}
	return api.EncodePayloads200JSONResponse{PayloadsJSONResponse: viewPayloads(payloads)}, nil
}

// MakeCodecLink implements POST /api/v1/codec/links.
func (s *server) MakeCodecLink(ctx context.Context, _ api.MakeCodecLinkRequestObject) (api.MakeCodecLinkResponseObject, error) {
	if err := s.mayDecode(ctx); err != nil {
		return nil, err
	}
	if !s.Codec.Keyed() {
		return nil, &invalid{"the keyset has no payload key in use: there is nothing to decode"}
	}
	if len(s.uiOrigins) == 0 {
		return nil, &invalid{"temporal.ui_url is not configured: a link works from the pages of that UI only"}
	}
	expires := s.Now().Add(CodecLinkLife).Truncate(time.Second)
	link, err := s.Codec.Link(operatorOf(ctx).ID, expires)
	if err != nil {
		return nil, err
	}
	if err := s.Store.RecordCodecUse(ctx, operatorOf(ctx), store.OutcomeLinked, 1); err != nil {
		return nil, err
	}
	s.Log.InfoContext(ctx, "a codec link was made", "operator", operatorOf(ctx).Name, "expires_at", expires)
	return api.MakeCodecLink200JSONResponse{Endpoint: CodecLinkPath(link), ExpiresAt: expires.UTC()}, nil
}

// mayDecode refuses operators who may not see every payload: one does not say
// whose it is.
func (s *server) mayDecode(ctx context.Context) error {
	if s.Codec == nil {
		return store.ErrNotFound
	}
	operator := operatorOf(ctx)
	if operator.Role == store.RoleViewer || !operator.Scope.SeesAll() {
		return &forbidden{"decoding is for operators and above whose scope is every source and tenant"}
	}
	return nil
}

func (s *server) payloadsOf(ctx context.Context, namespace *string, body *api.Payloads) ([]*commonpb.Payload, error) {
	if err := s.mayDecode(ctx); err != nil {
		return nil, err
	}
	if asked := value(namespace); asked != "" && asked != s.Namespace {
		return nil, &invalid{"X-Namespace: the payloads of that namespace are not encrypted here"}
	}
	if body == nil || body.Payloads == nil {
		return nil, &invalid{"payloads: is missing"}
	}
	payloads := make([]*commonpb.Payload, len(body.Payloads))
	for i, payload := range body.Payloads {
		payloads[i] = &commonpb.Payload{}
		if payload.Metadata != nil {
			payloads[i].Metadata = *payload.Metadata
		}
		if payload.Data != nil {
			payloads[i].Data = *payload.Data
		}
	}
	return payloads, nil
}

func viewPayloads(payloads []*commonpb.Payload) api.PayloadsJSONResponse {
	view := api.PayloadsJSONResponse{Payloads: make([]api.Payload, len(payloads))}
	for i, payload := range payloads {
		metadata, data := payload.GetMetadata(), payload.GetData()
		if metadata != nil {
			view.Payloads[i].Metadata = &metadata
		}
		if data != nil {
			view.Payloads[i].Data = &data
		}
	}
	return view
}
