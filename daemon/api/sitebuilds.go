package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/hpcenv/hpcenv/internal/making"
)

// SiteBuild is what a site built for an environment.
type SiteBuild = making.SiteBuild

// EnvironmentBuilds is what a site built for one environment on one platform.
type EnvironmentBuilds struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	Platform string      `json:"platform"`
	Builds   []SiteBuild `json:"builds"`
}

// RetrySiteBuilds has the daemon build again what failed of an environment, by id or an
// unambiguous prefix of it: the build of a name, or with "" all. It waits for the end. Only root and the
// daemon's own account may ask.
func (c *Client) RetrySiteBuilds(ctx context.Context, id, name string) ([]EnvironmentBuilds, error) {
	var out []EnvironmentBuilds
	err := c.ask(ctx, http.MethodPost, "/v1/site-builds/"+url.PathEscape(id)+"/retry?name="+url.QueryEscape(name), &out)
	return out, err
}
