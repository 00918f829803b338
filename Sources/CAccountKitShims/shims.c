#include "CAccountKitShims.h"
