// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
)

// session makes calls as one user, without the client that is tested.
type session struct {
	provider *gophercloud.ProviderClient
	// user and project are ids.
	user, project string
}

func logIn(ctx context.Context, authURL, user string) (*session, error) {
	provider, err := openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: authURL,
		Username:         user,
		Password:         Password(user),
		DomainName:       "Default",
		TenantName:       user,
		AllowReauth:      true,
	})
	if err != nil {
		return nil, fmt.Errorf("logging in as %s: %w", user, err)
	}
	s := &session{provider: provider}
	var token struct {
		Token struct{ User, Project struct{ ID string } }
	}
	if err := s.do(ctx, http.MethodGet, authURL+"/auth/tokens", nil, &token); err != nil {
		return nil, err
	}
	s.user, s.project = token.Token.User.ID, token.Token.Project.ID
	return s, nil
}

// do makes one call; body and answer may be nil.
func (s *session) do(ctx context.Context, method, url string, body, answer any) error {
	options := &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusNoContent}, KeepResponseBody: true}
	if body != nil {
		options.JSONBody = body
	}
	if method == http.MethodGet {
		options.MoreHeaders = map[string]string{"X-Subject-Token": s.provider.Token()} // Only /auth/tokens looks at it.
	}
	response, err := s.provider.Request(ctx, method, url, options)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	defer response.Body.Close()
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// object is a JSON object.
type object = map[string]any

// create makes one object of a kind and returns its id.
func (s *session) create(ctx context.Context, url, kind string, fields object) (string, error) {
	var answer map[string]struct{ ID string }
	err := s.do(ctx, http.MethodPost, url, object{kind: fields}, &answer)
	return answer[kind].ID, err
}
