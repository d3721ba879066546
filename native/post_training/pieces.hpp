// Pieces: how many tokens of a sample were made with which version of the weights. Trade-off: an
// entry for each stretch of equal version, sorted by sample when the job is over.
#pragma once

#include <vector>

#include "post_training/job.hpp"

namespace yantra::post_training {

class Pieces {
public:
    struct Piece {
        SampleId sample;
        u32 version;
        u32 tokens;
    };

    explicit Pieces(std::size_t samples) : first_version_(samples, none) {}

    void add(SampleId sample, u32 version, u32 tokens) {
        if (first_version_[sample] == none) {
            first_version_[sample] = version;
        }
        log_.push_back({sample, version, tokens});
    }
    // Of the sample; `none` if it has made no token.
    u32 first_version(SampleId sample) const { return first_version_[sample]; }
    const std::vector<Piece>& log() const { return log_; }

private:
    IdVector<SampleId, u32> first_version_;
    std::vector<Piece> log_;
};

}  // namespace yantra::post_training
