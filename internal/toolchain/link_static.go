//go:build llvmstatic

package toolchain

// The archives of `llvm-config --link-static --libs` for the back ends of targets.h, in its order, and those lld adds
// (DTLTO, Option, WindowsDriver). C libraries that differ between systems come from archives too, so that libc is left.

// #cgo LDFLAGS: -L/usr/lib/llvm-22/lib -llldELF -llldWasm -llldCommon -lLLVMDTLTO -lLLVMTelemetry -lLLVMWindowsDriver
// #cgo LDFLAGS: -lLLVMOption -lLLVMLTO -lLLVMExtensions -lLLVMPlugins -lLLVMSPIRVCodeGen -lLLVMSPIRVDesc
// #cgo LDFLAGS: -lLLVMSPIRVInfo -lLLVMSPIRVAnalysis -lLLVMWebAssemblyDisassembler -lLLVMWebAssemblyAsmParser
// #cgo LDFLAGS: -lLLVMWebAssemblyCodeGen -lLLVMWebAssemblyUtils -lLLVMWebAssemblyDesc -lLLVMWebAssemblyInfo
// #cgo LDFLAGS: -lLLVMAMDGPUTargetMCA -lLLVMAMDGPUDisassembler -lLLVMAMDGPUAsmParser -lLLVMAMDGPUCodeGen
// #cgo LDFLAGS: -lLLVMMIRParser -lLLVMAMDGPUDesc -lLLVMAMDGPUUtils -lLLVMAMDGPUInfo -lLLVMNVPTXCodeGen
// #cgo LDFLAGS: -lLLVMNVPTXDesc -lLLVMNVPTXInfo -lLLVMRISCVTargetMCA -lLLVMRISCVDisassembler -lLLVMRISCVAsmParser
// #cgo LDFLAGS: -lLLVMRISCVCodeGen -lLLVMRISCVDesc -lLLVMRISCVInfo -lLLVMARMDisassembler -lLLVMARMAsmParser
// #cgo LDFLAGS: -lLLVMARMCodeGen -lLLVMARMDesc -lLLVMARMUtils -lLLVMARMInfo -lLLVMAArch64Disassembler
// #cgo LDFLAGS: -lLLVMAArch64AsmParser -lLLVMAArch64CodeGen -lLLVMPasses -lLLVMHipStdPar -lLLVMCoroutines -lLLVMipo
// #cgo LDFLAGS: -lLLVMVectorize -lLLVMSandboxIR -lLLVMLinker -lLLVMFrontendOpenMP -lLLVMFrontendDirective
// #cgo LDFLAGS: -lLLVMFrontendAtomic -lLLVMFrontendOffloading -lLLVMObjectYAML -lLLVMAArch64Desc -lLLVMAArch64Utils
// #cgo LDFLAGS: -lLLVMAArch64Info -lLLVMX86TargetMCA -lLLVMMCA -lLLVMX86Disassembler -lLLVMX86AsmParser
// #cgo LDFLAGS: -lLLVMX86CodeGen -lLLVMX86Desc -lLLVMX86Info -lLLVMMCDisassembler -lLLVMInstrumentation
// #cgo LDFLAGS: -lLLVMIRPrinter -lLLVMGlobalISel -lLLVMSelectionDAG -lLLVMCFGuard -lLLVMAsmPrinter -lLLVMCodeGen
// #cgo LDFLAGS: -lLLVMTarget -lLLVMScalarOpts -lLLVMInstCombine -lLLVMAggressiveInstCombine -lLLVMObjCARCOpts
// #cgo LDFLAGS: -lLLVMTransformUtils -lLLVMCodeGenTypes -lLLVMCGData -lLLVMBitWriter -lLLVMAnalysis -lLLVMProfileData
// #cgo LDFLAGS: -lLLVMSymbolize -lLLVMDebugInfoBTF -lLLVMDebugInfoPDB -lLLVMDebugInfoMSF -lLLVMDebugInfoCodeView
// #cgo LDFLAGS: -lLLVMDebugInfoGSYM -lLLVMDebugInfoDWARF -lLLVMObject -lLLVMTextAPI -lLLVMMCParser -lLLVMIRReader
// #cgo LDFLAGS: -lLLVMAsmParser -lLLVMMC -lLLVMDebugInfoDWARFLowLevel -lLLVMBitReader -lLLVMFrontendHLSL -lLLVMCore
// #cgo LDFLAGS: -lLLVMRemarks -lLLVMBitstreamReader -lLLVMBinaryFormat -lLLVMTargetParser -lLLVMSupport
// #cgo LDFLAGS: -lLLVMDemangle -lLLVMOption -l:libz.a -l:libzstd.a -lrt -ldl -lm -l:libstdc++.a
import "C"
