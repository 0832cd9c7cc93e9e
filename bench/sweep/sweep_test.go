package sweep

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"lathe/bench/model"
)

// reported are cases on which an earlier compiler was slower than its peer.
const reported = `
	softmax/axis0_512x300 int8/dynquant_ffn_128 grouped/g2_96_256_27_alexnet convT/4x4s2_64_3_32_dcgan grouped/g2_192_13
	convT/2x2s2_128_64_64_unet convT/5x5s2_64_32_32 grouped/g8w8_64_56_regnet einsum/trace_like
	conv1d/convT_k4s2_64_32_8192 int8/g2_192_13 int8/conv5x5_1_32_28_mnist reduce/l1_all block/shufflenetv1_unit_g3
	grouped/1x1_g4_512_28_wrap reduce/sum_all_1M grouped/g32_128_56_resnext int8/g3w24_72_28_wrap
	depthwise/3x3_mult2_32_56_wrap move/pad_reflect_3_256 index/nms_2000x80_yolo rnn/bilstm_t100_h256 move/tile_expand
	rnn/lstm_t100_h256 resize/gridsample_64_64 index/nms_1000x1 softmax/axis1_19_512x256 rnn/gru_t100_h256
	conv3d/maxpool_avgpool control/scan_gru_like_50 conv2d/3x3_1_64_256_dncnn rnn/crnn_bilstm_t26_h256 rnn/bigru_t100_h512
	index/cumsum_axis0_4096x64 pool/max2s2_64_224 transpose/s2d_3_640 rnn/lstm_t100_h512_x2 resize/nearest2x_256_20
	conv2d/3x3d4_64_64_65 conv2d/3x3s2_3_24_640_yolo conv1d/demucs_k8s4_1_48 grouped/g10w16_160_14_regnet
	conv2d/9x9_3_32_256_style resize/linear_down_3_512to224 conv2d/3x3s2_80bin_speech rnn/gru_b8_t50_h256
	transpose/unfold_3x3_slices reduce/mean_hw_1280_7 conv2d/3x3s2pad_asym_tf gemm/65536x16x16 softmax/last_8732x81_ssd
	gemm/gemmT_64x512x10 depthwise/1x5_96_28 reduce/max_mid_64x1024x128 conv2d/3x3_512_512_1x1 index/topk_axis1
	reduce/max_023_bn conv3d/unet3d_1_16_64 conv2d/3x3d2_256_256_28 conv2d/3x3_1000_1000_4 softmax/log_17x50257
	depthwise/7x7_96_56_wrap depthwise/21x1_64_64_segnext int8/qlinearconv_3x3_64_56 conv2d/1x1_256_64_56
	conv2d/3x3_3_17_112 transpose/focus_slices_3_640 act/exp_64_56 grouped/g4w16_64_28_regnet conv2d/2x2_64_64_31
	move/split_odd_res2net pool/max1d_k2s2_64_8000 einsum/maskformer_bqc_bchw conv2d/3x3s2_128_256_56
`

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Families {
		for _, c := range f.Cases {
			name := f.FullName(c)
			if seen[name] {
				t.Errorf("two cases are named %s", name)
			}
			if strings.ContainsAny(c.Name, "/ ") {
				t.Errorf("%s: a name with a slash or a blank", name)
			}
			seen[name] = true
		}
	}
	if len(seen) < 300 {
		t.Errorf("only %d cases", len(seen))
	}
	for _, name := range strings.Fields(reported) {
		if !seen[name] {
			t.Errorf("no case is named %s", name)
		}
	}
}

// TestModels writes cases of all families twice: the bytes are the same, and other cases have other weights.
func TestModels(t *testing.T) {
	dir := t.TempDir()
	for _, f := range Families {
		c := f.Cases[len(f.Cases)-1]
		first, second := written(t, dir, f.FullName(c), c), written(t, dir, f.FullName(c), c)
		if !bytes.Equal(first, second) {
			t.Errorf("%s is another model every time", f.FullName(c))
		}
	}
	c := conv2d[0]
	if bytes.Equal(written(t, dir, "a", c), written(t, dir, "b", c)) {
		t.Error("the weights do not depend on the name")
	}
}

func written(t *testing.T, dir, name string, c Case) []byte {
	b := model.New(name)
	c.Build(b)
	b.Graph().Name = "same"
	file, err := b.Save(dir, "model", false)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		text string
		fits func(name string) bool
	}{
		{"", func(string) bool { return true }},
		{"1", func(string) bool { return true }},
		{"conv1d", func(name string) bool { return strings.HasPrefix(name, "conv1d/") }},
		{"alexnet|^rnn/gru", func(name string) bool { return strings.Contains(name, "alexnet") || strings.HasPrefix(name, "rnn/gru") }},
	} {
		got := map[string]bool{}
		list, err := Select(Families, c.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			for _, k := range f.Cases {
				got[f.FullName(k)] = true
			}
		}
		for _, f := range Families {
			for _, k := range f.Cases {
				if name := f.FullName(k); got[name] != c.fits(name) {
					t.Errorf("%q: %s is chosen: %v", c.text, name, got[name])
				}
			}
		}
	}
	for _, text := range []string{"(", "no such case"} {
		if _, err := Select(Families, text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestRandom: the same seed draws the same cases, all of which build, with names of their own.
func TestRandom(t *testing.T) {
	names := func(seed uint64) (list []string) {
		for _, f := range Random(seed, 200) {
			for _, c := range f.Cases {
				list = append(list, f.FullName(c))
			}
		}
		return list
	}
	first := names(7)
	seen := map[string]bool{}
	for _, n := range first {
		if seen[n] || strings.Count(n, "/") != 1 || strings.Contains(n, " ") {
			t.Errorf("%s: a name that two cases have, or with a blank or two slashes", n)
		}
		seen[n] = true
	}
	if len(first) != 200 || !slices.Equal(first, names(7)) || slices.Equal(first, names(8)) {
		t.Errorf("%d cases, the same again: %t, of another seed: %t", len(first), slices.Equal(first, names(7)), slices.Equal(first, names(8)))
	}
	dir := t.TempDir()
	for _, f := range Random(7, len(generators)) {
		b := model.New(f.Name)
		f.Cases[0].Build(b)
		if _, err := b.Save(dir, f.Name, false); err != nil {
			t.Errorf("%s: %v", f.FullName(f.Cases[0]), err)
		}
	}
}
