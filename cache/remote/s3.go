package remote

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// Bucket is where a bucket lies.
type Bucket struct {
	Name string
	// Endpoint is an http or https URL; "" = AWS's for Region.
	Endpoint string
	Region   string
	// PathStyle: the bucket is in the path, not in the host's name.
	PathStyle bool
}

// s3 makes t the place of an object.
func (a *Access) s3(t *Target, u *url.URL) error {
	b := Bucket{Name: u.Host, Endpoint: a.AWS.Endpoint, Region: a.AWS.Region, PathStyle: a.AWS.Endpoint != ""}
	for _, c := range a.Buckets {
		if c.Name == u.Host {
			b = c
			break
		}
	}
	if b.Region == "" {
		b.Region = "us-east-1"
	}
	if b.Endpoint == "" {
		b.Endpoint = "https://s3." + b.Region + ".amazonaws.com"
	}
	end, err := url.Parse(b.Endpoint)
	if err != nil || end.Scheme != "http" && end.Scheme != "https" || end.Host == "" || end.User != nil {
		return fmt.Errorf("bucket %s: its endpoint is not an http or https URL without credentials", b.Name)
	}
	at := &url.URL{Scheme: end.Scheme, Host: end.Host, Path: strings.TrimRight(end.Path, "/") + u.Path}
	if b.PathStyle {
		at.Path = strings.TrimRight(end.Path, "/") + "/" + b.Name + u.Path
	} else {
		at.Host = b.Name + "." + end.Host
	}
	// S3 takes a plus sign in a path for a blank.
	at.RawPath = s3utils.EncodePath(at.Path)
	t.URL, t.region = at, b.Region
	return nil
}

// emptySHA256 is the digest of a request without body.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign adds a signature over all that req's header has by now.
func sign(req *http.Request, id, key, session, region string) {
	req.Header.Set("X-Amz-Content-Sha256", emptySHA256)
	signed := signer.SignV4(*req, id, key, session, region)
	req.Header = signed.Header
}
