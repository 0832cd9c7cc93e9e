// Package zoo builds well-known networks in their published shapes with random weights, which the folder of networks does not
// hold.
package zoo

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"lathe/bench/model"
)

// A Network is one of them.
type Network struct {
	Name string
	// Published is the number of trained parameters that the authors or the reference implementation state.
	Published int
	Build     func(b *model.Builder)
}

// Networks are all, by name.
var Networks = []Network{
	{"autoencoder_b128", 219_891, exported(autoencoder)},                       // L1aoXingyu/pytorch-beginner: what follows from the shape
	{"bc_resnet_1", 8_944, exported(bcResNet(8))},                              // the paper states 9.2k: 288 fewer, as normalisations are folded
	{"bc_resnet_8", 321_000, exported(bcResNet(64))},                           // the paper
	{"bert_base_int8", 109_482_240, bertBase(dynamic)},                         // bert-base-uncased, quantised in the run
	{"conformer_s", 13_148_401, exported(conformerS)},                          // NVIDIA/NeMo states about 13M: what follows from the shape
	{"conformer_s_int8", 13_148_401, inTheRun(exported(conformerS), unsigned)}, // twins of int8: the counts of the float networks
	{"conv_tasnet", 4_984_881, exported(convTasNet)},                           // torchaudio: conv_tasnet_base, what follows from the shape
	{"convmixer_768", 4_676_584, exported(convMixer768)},                       // locuslab/convmixer: what 6 of 32 blocks have
	{"convnext_tiny", 28_589_128, convNeXtTiny(float)},                         // torchvision
	{"convnext_tiny_int8", 28_589_128, convNeXtTiny(static)},
	{"crf_tagger", 2_543_620, exported(crfTagger)},                              // what follows from the shape
	{"crnn", 8_331_301, exported(crnn)},                                         // meijieru/crnn.pytorch, with 37 classes (8.3M in the paper)
	{"cyclegan", 11_378_179, cycleGAN},                                          // junyanz/pytorch-CycleGAN-and-pix2pix: resnet_9blocks
	{"dac_encoder", 22_307_968, exported(dacEncoder)},                           // descriptinc/descript-audio-codec: 44khz, what follows from the shape of the encoder
	{"darknet19_int8", 20_842_376, calibrated(exported(darknet19), operatorsU)}, // pjreddie/darknet: darknet19.weights
	{"dcgan", 3_576_704, dcgan},                                                 // pytorch/examples: the generator
	{"deberta_v3", 20_863_488, exported(debertaV3)},                             // microsoft/deberta-v3-base: what 2 layers and 8192 words have
	{"deeplabv3_mobilenet", 11_029_328, exported(deepLabV3MobileNet)},           // torchvision: deeplabv3_mobilenet_v3_large, with the auxiliary head, which is not built
	{"deeplabv3_mobilenet_int8", 11_029_328, calibrated(exported(deepLabV3MobileNet), symmetric)},
	{"deepspeech2", 41_187_840, exported(deepSpeech2)},               // SeanNaren/deepspeech.pytorch, with 5 GRUs of 800: what follows from the shape
	{"demucs_small", 37_383_416, exported(demucsSmall)},              // facebookresearch/demucs: what 24 of its 64 channels have
	{"densenet121_int8", 7_978_856, calibrated(denseNet121, joined)}, // torchvision
	{"detr_r50", 18_069_856, exported(detrR50)},                      // facebookresearch/detr: 41,524,768, of which the backbone has 23,454,912
	{"din", 797_322, exported(din)},                                  // zhougr1993/DeepInterestNetwork: what 10000 things have
	{"dlrm", 21_525_377, exported(dlrm)},                             // facebookresearch/dlrm as in MLPerf: what tables of at most 10000 rows have
	{"ds_cnn_l", 410_700, exported(dsCNN)},                           // ARM-software/ML-KWS-for-MCU: what follows from the shape, with the normalisations folded
	{"edgenext_small", 5_590_000, exported(edgeNeXtSmall)},           // the paper
	{"edsr_baseline_x2", 1_369_859, exported(edsrBaseline)},          // sanghyun-son/EDSR-PyTorch
	{"edsr_baseline_x2_int8", 1_369_859, calibrated(exported(edsrBaseline), perChannel)},
	{"eegnet_8_2", 3_052, exported(eegNet)},                                              // vlawhern/arl-eegmodels: what follows from the shape
	{"efficientnet_b0_int8", 5_288_548, calibrated(exported(efficientNetB0), perTensor)}, // torchvision
	{"efficientnet_v2_s", 21_458_488, exported(efficientNetV2S)},                         // torchvision
	{"encodec_encoder", 7_425_792, exported(encodecEncoder)},                             // facebookresearch/encodec: encodec_24khz, what follows from the shape of the encoder
	{"esrgan_small", 4_467_779, exported(esrganSmall)},                                   // xinntao/ESRGAN: what 6 blocks have
	{"experts_layer", 24_776_704, exported(expertsLayer)},                                // Llama 4: what follows from the shape
	{"fast_style", 1_679_235, exported(fastStyle)},                                       // pytorch/examples: fast_neural_style
	{"fnet_base", 26_772_480, exported(fnetBase)},                                        // google/fnet-base: what 4 layers and 8192 words have
	{"ft_transformer", 915_265, exported(ftTransformer)},                                 // yandex-research/rtdl: what follows from the shape
	{"gat_cora", 92_373, exported(gatCora)},                                              // pyg-team/pytorch_geometric: what follows from the shape
	{"gcn_cora", 23_063, exported(gcnCora)},                                              // tkipf/pygcn: what follows from the shape
	{"ghostnet", 5_200_000, exported(ghostNet)},                                          // the paper: 1.0x
	{"gpt2_prefill", 81_912_576, exported(gpt2Prefill)},                                  // distilbert/distilgpt2: GPT-2 small with 6 of its 12 layers
	{"gpt2_prefill_int8", 81_912_576, inTheRun(exported(gpt2Prefill), matrices)},
	{"gpt2_step", 81_912_576, exported(gpt2Step)},
	{"gpt2_step_int8", 81_912_576, inTheRun(exported(gpt2Step), columns)},
	{"gru_denoiser", 2_687_561, exported(gruDenoiser)}, // microsoft/DNS-Challenge: NSNet2, what follows from the shape
	{"hifigan_v1", 13_926_017, exported(hifiGANV1)},    // jik876/hifi-gan: the generator
	{"hrnet_w18", 21_299_004, exported(hrNetW18)},      // timm
	{"inception_v3", 23_834_568, inceptionV3},          // torchvision, without the auxiliary classifier
	{"inception_v3_int8", 23_834_568, calibrated(inceptionV3, perChannel)},
	{"informer_encoder", 7_106_048, exported(informerEncoder)}, // zhouhaoyi/Informer2020: what follows from the shape
	{"levit_128s", 7_778_000, exported(leViT128S)},             // facebookresearch/LeViT: 7.8M
	{"llama_prefill", 39_326_720, exported(llamaPrefill)},      // what follows from the shape
	{"lstm_forecaster", 53_784, exported(lstmForecaster)},      // what follows from the shape
	{"lstm_lm", 66_000_000, lstmLanguageModel},                 // Zaremba et al. 2014: the large model
	{"lstm_lm_int8", 66_000_000, inTheRun(lstmLanguageModel, columns)},
	{"mamba_small", 28_922_112, exported(mambaSmall)},                                         // state-spaces/mamba-130m: what 6 layers and 8192 words have
	{"maxvit_t", 30_919_624, exported(maxViTT)},                                               // torchvision
	{"mlp_mixer_s16", 18_528_264, exported(mlpMixerS16)},                                      // timm: mixer_s16_224
	{"mobilenet_v2_b16", 3_504_872, exported(mobileNetV2Batch)},                               // torchvision
	{"mobilenet_v3_large", 5_483_032, exported(mobileNetV3)},                                  // torchvision
	{"mobilenet_v3_small_int8", 2_542_856, calibrated(exported(mobileNetV3Small), symmetric)}, // torchvision
	{"mobilevit_s", 5_578_632, exported(mobileViTS)},                                          // timm
	{"n_beats", 25_684_080, exported(nBeats)},                                                 // philipperemy/n-beats: what follows from the shape
	{"nafnet_32", 17_110_000, exported(nafNet32)},                                             // megvii-research/NAFNet: 17.1M
	{"nerf", 595_844, exported(nerf)},                                                         // yenchenlin/nerf-pytorch: what follows from the shape
	{"patchtst", 921_198, exported(patchTST)},                                                 // yuqinie98/PatchTST: what follows from the shape
	{"performer_small", 6_301_696, exported(performerSmall)},                                  // lucidrains/performer-pytorch: what follows from the shape
	{"pointnet", 3_472_500, exported(pointNet)},                                               // fxia22/pointnet.pytorch, with both transforms and 40 classes
	{"policy_b1", 11_849, exported(policy(1))},                                                // DLR-RM/stable-baselines3: what follows from the shape
	{"policy_b1024", 11_849, exported(policy(1024))},                                          // the same
	{"poolformer_s12", 11_915_176, exported(poolFormerS12)},                                   // sail-sg/poolformer
	{"r3d_18", 33_371_472, exported(r3d18)},                                                   // torchvision
	{"raft_small", 990_162, exported(raftSmall)},                                              // torchvision
	{"regnet_y_400mf", 4_344_144, regNetY400MF},                                               // torchvision
	{"regnet_y_400mf_int8", 4_344_144, calibrated(regNetY400MF, operators)},
	{"replknet_31b", 2_639_976, exported(repLKNet31B)},   // DingXiaoH/RepLKNet-pytorch: what two of four stages have
	{"repvgg_a0", 8_309_384, exported(repVGGA0)},         // DingXiaoH/RepVGG: deployed
	{"resnet50_b8", 25_557_032, exported(resNet50Batch)}, // torchvision
	{"resnext50", 25_028_904, resNeXt50},                 // torchvision: resnext50_32x4d
	{"resnext50_int8", 25_028_904, calibrated(resNeXt50, reduced)},
	{"rnnt_step", 1_638_145, exported(rnntStep)},       // NVIDIA/NeMo: what follows from the shape
	{"roberta_b8", 35_632_130, exported(robertaB8)},    // FacebookAI/roberta-base: what 4 layers and 8192 words have
	{"rwkv_small", 43_290_624, exported(rwkvSmall)},    // RWKV/rwkv-4-169m-pile: what 4 layers and 8192 words have
	{"sd_unet", 142_236_036, exported(sdUNet)},         // Stable Diffusion 1.5: what two fifths of the channels have
	{"segformer_b0", 3_752_694, exported(segFormerB0)}, // Hugging Face: nvidia/segformer-b0-finetuned-ade-512-512
	{"segformer_b0_int8", 3_752_694, calibrated(exported(segFormerB0), perChannel)},
	{"shufflenet_v1_g3", 1_865_728, shuffleNetV1}, // osmr/imgclsmob: 1.0x, 3 groups
	{"shufflenet_v1_g3_int8", 1_865_728, calibrated(shuffleNetV1, perTensor)},
	{"silero_vad", 243_585, exported(sileroVAD)},                                     // snakers4/silero-vad: version 5, without its spectrum
	{"smollm_step", 37_758_528, exported(smolLMStep)},                                // HuggingFaceTB/SmolLM-135M: what 8 layers and 8192 words have
	{"squeezenet1_1_int8", 1_235_496, calibrated(exported(squeezeNet11), operators)}, // torchvision
	{"ssd_mobilenet", 16_818_000, exported(ssdMobileNet)},                            // TensorFlow: ssd_mobilenet_v2_coco, as OpenVINO counts it
	{"stylegan2", 8_631_517, exported(styleGAN2)},                                    // rosinality/stylegan2-pytorch: what half of the channels have
	{"swin_tiny", 28_288_354, swinTiny(float)},                                       // torchvision: swin_t
	{"swin_tiny_int8", 28_288_354, swinTiny(static)},
	{"swin_v2_t", 28_351_570, exported(swinV2Tiny)},               // torchvision
	{"swinir_light", 910_152, exported(swinIRLight)},              // JingyunLiang/SwinIR: x2, what follows from the shape (878K in the paper)
	{"t5_small_encoder", 35_330_816, exported(t5SmallEncoder)},    // google-t5/t5-small
	{"tabnet", 470_472, exported(tabNetCovertype)},                // dreamquark-ai/tabnet: what follows from the shape
	{"tacotron2_decoder", 18_255_505, exported(tacotron2Decoder)}, // NVIDIA/tacotron2: what follows from the shape
	{"tcn", 2_220_100, exported(tcn)},                             // locuslab/TCN: char_cnn, what follows from the shape
	{"unet", 31_037_633, uNet},                                    // milesial/Pytorch-UNet: 3 channels, 1 class, transposed convolutions
	{"unet_3d", 1_166_172, exported(unet3D)},                      // wolny/pytorch-3dunet: what 16 channels have
	{"unet_int8", 31_037_633, calibrated(uNet, perChannel)},
	{"vae_decoder", 12_387_479, exported(vaeDecoder)},                           // Stable Diffusion 1.5: what half of the channels have
	{"vit_b_16_int8", 86_567_656, vitB16(static)},                               // torchvision
	{"vit_tiny_b4", 5_717_416, exported(viTTinyBatch)},                          // timm
	{"wav2vec2_frontend", 4_200_448, wav2vec2Front},                             // facebook/wav2vec2-base: the feature encoder
	{"wavenet", 7_459_856, exported(waveNet)},                                   // NVIDIA/nv-wavenet: pytorch, what follows from the shape
	{"whisper_tiny_decoder_step", 28_371_072, exported(whisperTinyDecoderStep)}, // openai/whisper-tiny: without keys and values of the sound
	{"whisper_tiny_encoder", 8_208_384, exported(whisperTinyEncoder)},           // openai/whisper-tiny
	{"whisper_tiny_encoder_int8", 8_208_384, inTheRun(exported(whisperTinyEncoder), unsigned)},
	{"wide_deep", 2_355_052, exported(wideDeep)}, // what follows from the shape
	{"yolov8n", 3_157_200, yoloV8n},              // ultralytics
	{"yolov8n_int8", 3_157_200, calibrated(yoloV8n, headless)},
}

// Find returns the network of that name.
func Find(name string) (Network, bool) {
	i := slices.IndexFunc(Networks, func(n Network) bool { return n.Name == name })
	if i < 0 {
		return Network{}, false
	}
	return Networks[i], true
}

// Write writes the named networks, or all, to a folder.
func Write(dir string, names []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if len(names) == 0 { // the twins are another network's, which counts once
		names = slices.DeleteFunc(Names(), func(n string) bool { return n == Twins })
	}
	for _, name := range names {
		if name == Twins {
			if err := writeTwins(dir); err != nil {
				return err
			}
			continue
		}
		n, ok := Find(name)
		if !ok {
			return fmt.Errorf("no network is built here as %q (there are %s)", name, strings.Join(Names(), ", "))
		}
		b := model.New(name)
		n.Build(b)
		if _, err := b.Save(dir, name, true); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Names are the names of all networks.
func Names() (list []string) {
	for _, n := range Networks {
		list = append(list, n.Name)
	}
	return append(list, Twins)
}
