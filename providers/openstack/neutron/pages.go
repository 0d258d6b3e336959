// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
)

// collection is a list of Neutron's.
type collection[T any] struct {
	call string
	// name is the collection in path and answer.
	name string
	id   func(T) string
}

// list reads all pages, each with a call of its own, in the order of ids.
//
// It asks for what follows the last id, and does not follow the links of the answers, which behind a load balancer often lead
// elsewhere: they only say that there is more.
func (l collection[T]) list(ctx context.Context, c *Client, query url.Values) ([]T, error) {
	query.Set("sort_key", "id")
	query.Set("sort_dir", "asc")
	query.Set("limit", strconv.Itoa(c.options.PageSize))
	var all []T
	for {
		page, hasNext, err := l.page(ctx, c, query)
		if err != nil {
			return nil, err
		}
		if len(page) > 0 && l.id(page[0]) <= query.Get("marker") {
			// Neutron ignores a marker that is gone, and begins anew.
			return nil, &Error{Call: l.call, Kind: Unavailable, Message: "the list changed while it was read"}
		}
		all = append(all, page...)
		if !hasNext || len(page) == 0 {
			return all, nil
		}
		query.Set("marker", l.id(page[len(page)-1]))
	}
}

func (l collection[T]) page(ctx context.Context, c *Client, query url.Values) (page []T, hasNext bool, err error) {
	var answer map[string]json.RawMessage
	var links []gophercloud.Link
	err = c.call(ctx, l.call, func(ctx context.Context) error {
		//nolint:bodyclose // gophercloud has read and closed it.
		_, failed := c.service.Get(ctx, c.service.ServiceURL(l.name)+"?"+query.Encode(), &answer, nil)
		if failed == nil {
			failed = json.Unmarshal(answer[l.name], &page)
		}
		if raw, ok := answer[l.name+"_links"]; ok && failed == nil {
			failed = json.Unmarshal(raw, &links)
		}
		return failed
	})
	for _, link := range links {
		hasNext = hasNext || link.Rel == "next"
	}
	return page, hasNext, err
}
