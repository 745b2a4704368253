package server

import "github.com/hpcenv/hpcenv/daemon/api"

// ConfigBackend tells the configuration that holds.
type ConfigBackend interface {
	// Config returns all keys; URLs are without credentials.
	Config() []api.ConfigValue
}

// configRoutes are about the configuration.
func (s *Server) configRoutes() []Route {
	return []Route{
		{Method: "GET", Pattern: "/v1/config", For: Support, What: "see the configuration", Answer: func(*Request) (any, error) {
			if s.backends.Config == nil {
				return nil, errNotHere
			}
			return s.backends.Config.Config(), nil
		}},
	}
}
