// What prove runs in pods: `probe serve` answers HTTP requests with the name of its pod, and
// `probe get URL` prints such an answer.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		fmt.Println("started")
		return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, name)
		}))
	case len(args) == 2 && args[0] == "get":
		client := http.Client{Timeout: 3 * time.Second}
		response, err := client.Get(args[1])
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.Copy(os.Stdout, response.Body)
		return err
	}
	return fmt.Errorf("usage: probe serve, or probe get URL; not %q", args)
}
