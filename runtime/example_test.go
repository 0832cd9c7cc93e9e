package runtime_test

import (
	"fmt"
	"log"

	"lathe/runtime"
)

func Example() {
	m, err := runtime.Open("model.tar")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	picture := make([]float32, 3*224*224)
	x, err := runtime.NewTensor(picture, 1, 3, 224, 224)
	if err != nil {
		log.Fatal(err)
	}
	if err := m.SetInput("data", x); err != nil {
		log.Fatal(err)
	}
	if err := m.Run(); err != nil {
		log.Fatal(err)
	}
	y, err := m.Output(0)
	if err != nil {
		log.Fatal(err)
	}
	scores, err := y.Float32s()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y.Shape, scores[0])
}
