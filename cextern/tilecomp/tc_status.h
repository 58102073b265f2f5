/* What a function of this library returns: TC_OK, or the one reason why it stopped. */
#ifndef TC_STATUS_H
#define TC_STATUS_H

typedef enum {
    TC_OK = 0,
    TC_TRUNCATED,     /* the stream ends before the tile is complete */
    TC_TRAILING,      /* a few bytes are left over after a complete tile */
    TC_CORRUPT,       /* the stream contradicts itself in a way that no other code names */
    TC_BAD_MAGIC,     /* the stream does not begin with the mark of its format */
    TC_SIZE_MISMATCH, /* the stream states another size than the tile has */
    TC_BAD_CODE,      /* a code that the format does not define */
    TC_BAD_CHECKSUM,  /* the stream's own checksum does not match its content */
    TC_NO_SPACE,      /* the output buffer is too small */
    TC_OUT_OF_RANGE,  /* a value that the format or the pixel type cannot hold */
    TC_REFUSED,       /* the tile cannot be quantized and has to be kept lossless */
    TC_UNSUPPORTED,   /* lawful, but not implemented here */
    TC_BAD_PARAM,     /* a parameter outside its allowed values */
    TC_NO_MEMORY,     /* an allocation failed */
    TC_MISSING,       /* no column holds data for the tile */
    TC_UNUSED         /* so many bytes are left over that the tile must be damaged */
} tc_status;

#define TC_TRY(call)                                                                               \
    do {                                                                                           \
        const tc_status tc_try_status = (call);                                                    \
        if (tc_try_status != TC_OK) return tc_try_status;                                          \
    } while (0)

#endif
